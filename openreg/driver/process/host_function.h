// Functions of the host in a stream's order.
#pragma once

#include "objects.h"
#include "openreg.h"

namespace openreg::process {

/// Queues `function` behind the stream's work. It runs in the host, on a thread of the stream's lane: the executor's
/// stream stands meanwhile at a fence that only the host advances.
orError_t queueHostFunction(Stream& stream, uint64_t expected, orHostFn_t function, void* userData);

/// Blocks until no function of the device is running. The device has begun another life, so none will begin either.
void awaitHostFunctions(const Device& device);

} // namespace openreg::process
