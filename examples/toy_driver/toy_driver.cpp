// A driver for a chip that is not there: memory, and copies that are done when they return. It has no kernels.
// Built outside OpenReg's tree, against its installed headers. The guide writes it: "The contract and its drivers".
#include <openreg_driver.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace {

// LITERALINCLUDE START: TOY CHIP
constexpr int kDevices = 2;
constexpr size_t kMemory = size_t{256} << 20;
constexpr size_t kAlignment = 512;

struct Device {
  char* base = nullptr; // kMemory bytes of addresses, where nobody can read or write; behind them, the memory itself
  std::map<size_t, size_t> blocks; // live allocations: where each begins, and its size
  size_t used = 0;
};

std::mutex mutex;
auto* const devices = new Device[kDevices]; // never destroyed: a thread may be in a call while the process ends

bool wake(Device& device) {
  if (device.base == nullptr) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* base = mmap(nullptr, 2 * kMemory, PROT_NONE, kFlags, -1, 0);
    if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + kMemory, kMemory, PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    device.base = static_cast<char*>(base);
  }
  return true;
}
// LITERALINCLUDE END: TOY CHIP

// LITERALINCLUDE START: TOY DEVICES
orError_t getDeviceCount(int* count) {
  *count = kDevices;
  return orSuccess;
}

orError_t getState(int* active, int device) {
  const std::lock_guard lock(mutex);
  *active = devices[device].base != nullptr;
  return orSuccess;
}

orError_t getProperties(orDeviceProp* properties, int /*device*/) {
  *properties = {"Toy", kMemory, 1, 0, 1, kAlignment, 1};
  return orSuccess;
}

orError_t synchronize(int /*device*/) {
  return orSuccess; // all work is done when the call that asked for it returns
}
// LITERALINCLUDE END: TOY DEVICES

// LITERALINCLUDE START: TOY MALLOC
size_t roundUp(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

orError_t allocate(void** ptr, size_t size, int index) {
  const std::lock_guard lock(mutex);
  Device& device = devices[index];
  size_t begin = 0; // of the first gap that is large enough
  for (const auto& [offset, length] : device.blocks) {
    if (offset - begin >= size) {
      break;
    }
    begin = offset + roundUp(length);
  }
  if (size > kMemory - begin || !wake(device)) {
    const size_t free = kMemory - device.used;
    return orDriverError(orErrorMemoryAllocation, "size is %zu, and %zu of %zu bytes are free", size, free, kMemory);
  }
  if (size != 0) {
    device.blocks[begin] = size;
    device.used += roundUp(size);
    *ptr = device.base + begin;
  }
  return orSuccess;
}
// LITERALINCLUDE END: TOY MALLOC

// LITERALINCLUDE START: TOY FIND
struct Place {
  Device* device = nullptr; // null: no address of ours
  size_t offset = 0;        // from its first address
  size_t begin = 0;         // of the live allocation around it
  size_t size = 0;          // 0: there is none
};

Place find(const void* ptr) {
  for (Device* device = devices; device != devices + kDevices; ++device) {
    const size_t offset = reinterpret_cast<uintptr_t>(ptr) - reinterpret_cast<uintptr_t>(device->base);
    if (device->base != nullptr && offset < kMemory) {
      const auto after = device->blocks.upper_bound(offset);
      if (after == device->blocks.begin()) {
        return {device, offset};
      }
      const auto [begin, size] = *std::prev(after);
      return offset - begin < size ? Place{device, offset, begin, size} : Place{device, offset};
    }
  }
  return {};
}

orError_t release(void* ptr) {
  const std::lock_guard lock(mutex);
  const Place place = find(ptr);
  if (ptr != nullptr && (place.size == 0 || place.offset != place.begin)) {
    return orDriverError(orErrorInvalidValue, "ptr is %p, expected the start of a live allocation", ptr);
  }
  if (ptr != nullptr) {
    place.device->blocks.erase(place.begin);
    place.device->used -= roundUp(place.size);
  }
  return orSuccess;
}

orError_t getAttributes(orPointerAttributes* attributes, const void* ptr) {
  const std::lock_guard lock(mutex);
  const Place place = find(ptr);
  *attributes = {orMemoryTypeUnregistered, -1, nullptr, 0};
  if (place.size != 0) {
    const int index = static_cast<int>(place.device - devices);
    *attributes = {orMemoryTypeDevice, index, place.device->base + place.begin, place.size};
  }
  return orSuccess;
}
// LITERALINCLUDE END: TOY FIND

// LITERALINCLUDE START: TOY COPY
orError_t getDefaultStream(orStream_t* stream, int device) {
  *stream = reinterpret_cast<orStream_t>(&devices[device]); // says which device; there is no queue
  return orSuccess;
}

/// One end of a copy: where its bytes are for this file. Its kind must be what `device` and `host` allow.
orError_t locate(char** at, const char* side, const void* ptr, size_t size, orStream_t stream, bool device, bool host) {
  const Place place = find(ptr);
  const bool isDevice = place.device != nullptr;
  const size_t rest = place.begin + place.size - place.offset;
  if (isDevice ? !device : !host) {
    return orDriverError(orErrorInvalidValue, "kind contradicts %s, which is %p", side, ptr);
  }
  if (isDevice && (place.size == 0 || size > rest)) {
    return orDriverError(orErrorInvalidValue, "%s is %p: no live allocation has %zu bytes there", side, ptr, size);
  }
  if (isDevice && place.device != reinterpret_cast<Device*>(stream)) {
    return orDriverError(orErrorInvalidValue, "%s is memory of another device than the stream's", side);
  }
  *at = isDevice ? place.device->base + kMemory + place.offset : static_cast<char*>(const_cast<void*>(ptr));
  return orSuccess;
}

orError_t copy(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  if (stream == nullptr) {
    return orDriverError(orErrorInvalidHandle, "stream is null, expected a default stream");
  }
  if (std::none_of(devices, devices + kDevices, [&](Device& it) { return &it == reinterpret_cast<Device*>(stream); })) {
    return orDriverError(orErrorInvalidHandle, "stream is %p, expected a default stream", static_cast<void*>(stream));
  }
  if (size == 0) {
    return orSuccess;
  }
  const bool any = kind == orMemcpyDefault;
  const bool to = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
  const bool from = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
  const std::lock_guard lock(mutex);
  char* here = nullptr;
  char* there = nullptr;
  orError_t error = locate(&there, "dst", dst, size, stream, any || to, any || !to);
  if (error == orSuccess) {
    error = locate(&here, "src", src, size, stream, any || from, any || !from);
  }
  if (error == orSuccess) {
    std::memmove(there, here, size);
  }
  return error;
}
// LITERALINCLUDE END: TOY COPY

// LITERALINCLUDE START: TOY TABLE
OrDriver table = [] {
  OrDriver it{}; // what is not filled in is missing, and the library says so by name
  it.size = sizeof(OrDriver);
  it.version = OPENREG_DRIVER_VERSION;
  it.name = "toy";
  it.GetDeviceCount = getDeviceCount;
  it.DeviceGetState = getState;
  it.GetDeviceProperties = getProperties;
  it.DeviceSynchronize = synchronize;
  it.Malloc = allocate;
  it.Free = release;
  it.PointerGetAttributes = getAttributes;
  it.StreamGetDefault = getDefaultStream;
  it.MemcpyWithStream = copy;
  it.MemcpyAsync = copy;
  return it;
}();

} // namespace

const OrDriver* orGetDriver(uint32_t version) {
  return version == OPENREG_DRIVER_VERSION ? &table : nullptr;
}
// LITERALINCLUDE END: TOY TABLE
