// Calls about devices.
#include <cstdio>

#include "calls.h"
#include "lookup.h"
#include "openreg_driver.h"
#include "sim/pool.h"

namespace openreg::process {

orError_t getDeviceCount(int* count) {
  *count = static_cast<int>(host().devices.size());
  return orSuccess;
}

orError_t deviceGetState(int* active, int index) {
  *active = host().device(index).active() ? 1 : 0;
  return orSuccess;
}

orError_t getDeviceProperties(orDeviceProp* properties, int index) {
  *properties = {}; // Known without the executor: asking must start nothing.
  std::snprintf(properties->name, sizeof(properties->name), "OpenReg Simulator");
  properties->totalGlobalMem = host().device(index).memory.total();
  properties->major = 1;
  properties->minor = 0;
  properties->multiProcessorCount = sim::ComputePool::width();
  properties->memoryAlignment = sim::kMemoryAlignment;
  return orSuccess;
}

orError_t deviceSynchronize(int index) {
  Device& it = host().device(index);
  if (const orError_t error = it.failure.check()) {
    return error;
  }
  it.drain();
  return it.surface();
}

orError_t deviceReset(int index) {
  host().device(index).reset();
  return orSuccess;
}

orError_t deviceCanAccessPeer(int* canAccess, int index, int peer) {
  *canAccess = index != peer ? 1 : 0;
  return orSuccess;
}

orError_t deviceEnablePeerAccess(int index, int peer) {
  if (!host().peers.enable(host().device(index), host().device(peer))) {
    return orDriverError(
        orErrorPeerAccessAlreadyEnabled, "argument 'peer' is %d, to which device %d has access already", peer, index);
  }
  return orSuccess;
}

orError_t deviceDisablePeerAccess(int index, int peer) {
  Device& it = host().device(index);
  if (host().peers.canAccess(it, host().device(peer))) {
    it.drain(); // What is queued was launched with the access it needs.
    if (host().peers.disable(it, host().device(peer))) {
      return orSuccess;
    }
  }
  return orDriverError(
      orErrorPeerAccessNotEnabled, "argument 'peer' is %d; expected a device to which device %d has access", peer,
      index);
}

} // namespace openreg::process
