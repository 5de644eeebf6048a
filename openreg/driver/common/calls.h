// What all functions of openreg.h need: from what a caller gave to the object that is meant, or the error.
#pragma once

#include "lookup.h"
#include "objects.h"
#include "openreg_driver.h"

namespace openreg {

/// Base of the functions of openreg.h, a class for each kind; api/ has checked what openreg_driver.h says. They check
/// handles, memory and the device's failure, in the same words for every driver, and leave the work to its objects.
template <class DriverType>
struct Calls {
  using Driver = DriverType;
  using Device = Driver::Device;
  using Stream = Driver::Stream;
  using Event = Driver::Event;

  static Driver& all() { return Driver::instance(); }
  static Device& device(int index) { return all().device(index); }

  static Stream* find(orStream_t stream) { return all().streams.find(number(stream)); }
  static Event* find(orEvent_t event) { return all().events.find(number(event)); }

  static orError_t invalid(orStream_t stream) { return invalidHandle("stream", "a stream", number(stream)); }
  static orError_t invalid(orEvent_t event, const char* argument = "event") {
    return invalidHandle(argument, "an event", number(event));
  }
};

} // namespace openreg
