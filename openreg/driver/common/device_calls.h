// Calls about devices.
#pragma once

#include <cstdio>

#include "calls.h"
#include "platform.h"

namespace openreg {

template <class Driver>
struct DeviceCalls : Calls<Driver> {
  using typename Calls<Driver>::Device;
  using Calls<Driver>::all;
  using Calls<Driver>::device;

  static orError_t getDeviceCount(int* count) {
    *count = static_cast<int>(all().devices.size());
    return orSuccess;
  }

  static orError_t deviceGetState(int* active, int index) {
    *active = device(index).active() ? 1 : 0;
    return orSuccess;
  }

  static orError_t getDeviceProperties(orDeviceProp* properties, int index) {
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "OpenReg Simulator");
    properties->totalGlobalMem = device(index).memory.total();
    properties->major = 1;
    properties->minor = 0;
    properties->multiProcessorCount = coreCount();
    properties->memoryAlignment = kMemoryAlignment;
    return orSuccess;
  }

  static orError_t deviceSynchronize(int index) {
    Device& it = device(index);
    if (const orError_t error = it.failure.check()) {
      return error;
    }
    it.drain(); // A device that was never used has no streams, and stays unused.
    return it.surface();
  }

  static orError_t deviceReset(int index) {
    device(index).reset();
    return orSuccess;
  }

  static orError_t deviceCanAccessPeer(int* canAccess, int index, int peer) {
    *canAccess = index != peer ? 1 : 0;
    return orSuccess;
  }

  static orError_t deviceEnablePeerAccess(int index, int peer) {
    if (!device(index).enablePeer(device(peer))) {
      return orDriverError(
          orErrorPeerAccessAlreadyEnabled, "argument 'peer' is %d, to which device %d has access already", peer, index);
    }
    return orSuccess;
  }

  static orError_t deviceDisablePeerAccess(int index, int peer) {
    Device& it = device(index);
    if (it.canAccess(device(peer))) {
      it.drain(); // What is queued was launched with the access it needs.
      if (it.disablePeer(device(peer))) {
        return orSuccess;
      }
    }
    return orDriverError(
        orErrorPeerAccessNotEnabled, "argument 'peer' is %d; expected a device to which device %d has access", peer,
        index);
  }
};

} // namespace openreg
