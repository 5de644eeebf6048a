// What all functions of openreg.h need: from what a caller gave to the object that is meant.
#pragma once

#include "common/lookup.h"
#include "common/objects.h"
#include "common/refused.h"

namespace openreg {

/// What a caller has given, as the object that it names; if there is none the call is refused. Over this the functions
/// of openreg.h are written, a class for each kind; api/ has checked what openreg_driver.h says. They check handles,
/// memory and the device's failure, in the same words for every driver, and leave the work to its objects.
template <class Driver>
struct Given {
  static Driver& all() { return Driver::instance(); }
  static auto& device(int index) { return all().device(index); }
  static auto& stream(orStream_t handle) { return named(all().streams, handle); }
  static auto& event(orEvent_t handle, const char* argument = nullptr) { return named(all().events, handle, argument); }

  /// A device or stream for a call that needs the device.
  static auto& usedDevice(int index) {
    auto& it = device(index);
    require(it.use());
    return it;
  }
  static auto& usedStream(orStream_t handle) {
    auto& it = stream(handle);
    require(it.device().use());
    return it;
  }
};

} // namespace openreg
