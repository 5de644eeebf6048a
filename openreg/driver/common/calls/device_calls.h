// Calls about devices.
#pragma once

#include <cstdio>

#include "calls.h"
#include "common/system/platform.h"

namespace openreg {

template <class Driver>
struct DeviceCalls {
  using Given = openreg::Given<Driver>;

  static void getDeviceCount(int* count) { *count = static_cast<int>(Given::all().devices.size()); }

  static void deviceGetState(int* active, int index) { *active = Given::device(index).active() ? 1 : 0; }

  static void getDeviceProperties(orDeviceProp* properties, int index) {
    *properties = {};
    auto& it = Given::device(index);
    if constexpr (requires { it.describe(*properties); }) {
      it.describe(*properties);
    } else {
      std::snprintf(properties->name, sizeof(properties->name), "OpenReg Simulator");
      properties->totalGlobalMem = it.memory.total();
      properties->major = 1;
      properties->minor = 0;
      properties->multiProcessorCount = coreCount();
      properties->memoryAlignment = kMemoryAlignment;
    }
  }

  static orError_t deviceSynchronize(int index) {
    auto& it = Given::device(index);
    require(it.failure.check());
    Given::all().captures.requireSafe();
    it.drain(); // A device that was never used has no streams, and stays unused.
    return it.surface();
  }

  static void deviceReset(int index) {
    Given::all().captures.requireSafe();
    Given::device(index).reset();
  }

  static void deviceCanAccessPeer(int* canAccess, int index, int peer) {
    *canAccess = index != peer && reaches(Given::device(index), Given::device(peer)) ? 1 : 0;
  }

  static orError_t deviceEnablePeerAccess(int index, int peer) {
    if (!reaches(Given::device(index), Given::device(peer))) {
      return orDriverError(
          orErrorPeerAccessUnsupported, "argument 'peer' is %d, whose memory device %d can't reach", peer, index);
    }
    if (!Given::device(index).enablePeer(Given::device(peer))) {
      return orDriverError(
          orErrorPeerAccessAlreadyEnabled, "argument 'peer' is %d, to which device %d has access already", peer, index);
    }
    return orSuccess;
  }

  static orError_t deviceDisablePeerAccess(int index, int peer) {
    auto& it = Given::device(index);
    if (it.canAccess(Given::device(peer))) {
      Given::all().captures.requireSafe();
      it.drain(); // What is queued was launched with the access it needs.
      if (it.disablePeer(Given::device(peer))) {
        return orSuccess;
      }
    }
    return orDriverError(
        orErrorPeerAccessNotEnabled, "argument 'peer' is %d; expected a device to which device %d has access", peer,
        index);
  }

 private:
  /// Whether the hardware connects the two, where that is a question.
  static bool reaches(auto& device, auto& peer) {
    if constexpr (requires { device.reaches(peer); }) {
      return device.reaches(peer);
    }
    return true;
  }
};

} // namespace openreg
