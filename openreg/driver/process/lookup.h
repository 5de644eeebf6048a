// From a handle that a caller gave to the object it names, or the error.
#pragma once

#include "host.h"
#include "sim/lookup.h"

namespace openreg::process {

using sim::handleOf;
using sim::invalidHandle;
using sim::number;

inline Stream* find(orStream_t stream) {
  return host().streams.find(number(stream));
}
inline Event* find(orEvent_t event) {
  return host().events.find(number(event));
}

inline orError_t invalid(orStream_t stream) {
  return invalidHandle("stream", "a stream", number(stream));
}
inline orError_t invalid(orEvent_t event, const char* argument = "event") {
  return invalidHandle(argument, "an event", number(event));
}

inline Device& deviceOf(const Stream& stream) {
  return *stream.device.load(std::memory_order_acquire);
}

} // namespace openreg::process
