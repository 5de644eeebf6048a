// Devices: the current one of each thread, and what can be asked of them.
#include "activity.h"
#include "fork.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;
using openreg::api::thread;

namespace {
constexpr char kNumber[] = "where to put the number";
constexpr char kAnswer[] = "where to put the answer";
} // namespace

orError_t orGetDriverName(const char** name) {
  Entry entry("orGetDriverName");
  entry.notNull(name != nullptr, "name", "where to put the name");
  if (entry.ok()) {
    *name = openreg::api::driver().table.name;
  }
  return entry.status();
}

orError_t orGetDeviceCount(int* count) {
  Entry entry("orGetDeviceCount");
  entry.notNull(count != nullptr, "count", kNumber);
  return entry.call(&OrDriver::GetDeviceCount, count);
}

orError_t orGetDevice(int* device) {
  Entry entry("orGetDevice", Entry::Needs::Nothing);
  entry.notNull(device != nullptr, "device", "where to put the index");
  if (entry.ok()) {
    *device = thread.device;
  }
  return entry.status();
}

orError_t orSetDevice(int device) {
  Entry entry("orSetDevice");
  entry.device(device);
  if (entry.ok()) {
    thread.device = device;
  }
  return entry.status();
}

orError_t orDeviceGetState(int* active, int device) {
  Entry entry("orDeviceGetState");
  entry.notNull(active != nullptr, "active", kAnswer).device(device);
  return entry.call(&OrDriver::DeviceGetState, active, device);
}

orError_t orGetDeviceProperties(orDeviceProp* properties, int device) {
  Entry entry("orGetDeviceProperties");
  entry.notNull(properties != nullptr, "properties", "where to put the properties").device(device);
  return entry.call(&OrDriver::GetDeviceProperties, properties, device);
}

orError_t orDeviceSynchronize(int device) {
  RecordedEntry entry("orDeviceSynchronize");
  entry.device(device);
  return entry.call(&OrDriver::DeviceSynchronize, device);
}

orError_t orDeviceReset(int device) {
  Entry entry("orDeviceReset");
  entry.device(device);
  if (entry.ok()) {
    openreg::api::noteUse(device); // A child forked after the reset is still the child of a process that used it.
  }
  return entry.call(&OrDriver::DeviceReset, device);
}

orError_t orDeviceCanAccessPeer(int* canAccess, int device, int peer) {
  Entry entry("orDeviceCanAccessPeer");
  entry.notNull(canAccess != nullptr, "canAccess", kAnswer).device(device).device(peer, "peer");
  return entry.call(&OrDriver::DeviceCanAccessPeer, canAccess, device, peer);
}

orError_t orDeviceEnablePeerAccess(int device, int peer) {
  Entry entry("orDeviceEnablePeerAccess");
  entry.device(device).device(peer, "peer");
  entry.require(
      device != peer, orErrorInvalidDevice, "argument 'peer' is %d; expected another device than 'device'", peer);
  return entry.call(&OrDriver::DeviceEnablePeerAccess, device, peer);
}

orError_t orDeviceDisablePeerAccess(int device, int peer) {
  Entry entry("orDeviceDisablePeerAccess");
  entry.device(device).device(peer, "peer");
  return entry.call(&OrDriver::DeviceDisablePeerAccess, device, peer);
}
