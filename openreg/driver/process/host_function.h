// Functions of the host in a stream's order. One runs in the host, on a thread of the stream's lane: the executor's
// stream stands meanwhile at a fence that only the host advances.
#pragma once

namespace openreg::process {

class Device;

/// Blocks until no function of the device is running. The device has begun another life, so none will begin either.
void awaitHostFunctions(const Device& device);

} // namespace openreg::process
