// Calls about devices.
#include <cstdio>
#include <thread>

#include "calls.h"
#include "pool.h"
#include "simulator.h"

namespace openreg::sim {

namespace {
Device& device(int index) {
  return *simulator().devices[static_cast<size_t>(index)];
}
} // namespace

orError_t getDeviceCount(int* count) {
  *count = simulator().options.devices;
  return orSuccess;
}

orError_t deviceGetState(int* active, int index) {
  *active = device(index).active() ? 1 : 0;
  return orSuccess;
}

orError_t getDeviceProperties(orDeviceProp* properties, int index) {
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "OpenReg Simulator");
  properties->totalGlobalMem = device(index).memory.total();
  properties->major = 1;
  properties->minor = 0;
  properties->multiProcessorCount = ComputePool::width();
  properties->memoryAlignment = kMemoryAlignment;
  return orSuccess;
}

orError_t deviceSynchronize(int index) {
  Device& it = device(index);
  if (const orError_t error = it.failure.check()) {
    return error;
  }
  it.drain(); // A device that was never used has no streams, and stays unused.
  return it.failure.surface();
}

orError_t deviceReset(int index) {
  device(index).reset();
  return orSuccess;
}

orError_t deviceCanAccessPeer(int* canAccess, int index, int peer) {
  *canAccess = index != peer ? 1 : 0;
  return orSuccess;
}

orError_t deviceEnablePeerAccess(int index, int peer) {
  if (!device(index).enablePeer(device(peer))) {
    return orDriverError(
        orErrorPeerAccessAlreadyEnabled, "argument 'peer' is %d, to which device %d has access already", peer, index);
  }
  return orSuccess;
}

orError_t deviceDisablePeerAccess(int index, int peer) {
  Device& it = device(index);
  if (!it.canAccess(device(peer))) {
    return orDriverError(
        orErrorPeerAccessNotEnabled, "argument 'peer' is %d; expected a device to which device %d has access", peer,
        index);
  }
  it.drain(); // What is queued was launched with the access it needs.
  it.disablePeer(device(peer));
  return orSuccess;
}

} // namespace openreg::sim
