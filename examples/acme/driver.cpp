// The driver of acme's chip. What the generator wrote said TODO in each function; these are the bodies, and no more.
#include "address_map.h"
#include "entries.h"
#include "vendor_error.h"

#include <acme.h>

#include <cstring>

namespace acme::api::driver {
namespace {

AddressMap& addresses() {
  static auto* map = new AddressMap; // never destroyed: a thread may be in a call while the process ends
  return *map;
}

// LITERALINCLUDE START: ACME ERRORS
constexpr VendorCode kCodes[] = {
    {0, orSuccess},
    {ACME_NO_MEMORY, orErrorMemoryAllocation},
};

orError_t failed(const char* call, int code) {
  return vendorError(call, code, acme_text(code), kCodes);
}
// LITERALINCLUDE END: ACME ERRORS

} // namespace

orError_t getDeviceCount(int* count) {
  *count = 1;
  return orSuccess;
}

orError_t getDeviceProperties(orDeviceProp* properties, int /*device*/) {
  *properties = {"Acme 1", acme_memory(), 1, 0, 1, 4096, 1};
  return orSuccess;
}

orError_t deviceGetState(int* active, int /*device*/) {
  *active = acme_is_open();
  return orSuccess;
}

orError_t deviceSynchronize(int /*device*/) {
  return orSuccess; // what was asked for is done
}

// LITERALINCLUDE START: ACME MEMORY
orError_t malloc(void** ptr, size_t size, int device) {
  *ptr = nullptr;
  if (size == 0) {
    return orSuccess;
  }
  acme_open();
  const int buffer = acme_buffer_new(size);
  if (buffer < 0) {
    return failed("acme_buffer_new", buffer);
  }
  *ptr = addresses().add(buffer, device, size);
  if (*ptr == nullptr) {
    acme_buffer_delete(buffer);
    return orDriverError(orErrorMemoryAllocation, "no addresses are left for %zu bytes", size);
  }
  return orSuccess;
}

orError_t free(void* ptr) {
  if (ptr == nullptr) {
    return orSuccess;
  }
  const auto place = addresses().remove(ptr);
  if (!place) {
    return orDriverError(orErrorInvalidValue, "ptr is %p, expected the start of a live allocation", ptr);
  }
  return failed("acme_buffer_delete", acme_buffer_delete(static_cast<int>(place->handle)));
}
// LITERALINCLUDE END: ACME MEMORY

orError_t pointerGetAttributes(orPointerAttributes* attributes, const void* ptr) {
  const auto place = addresses().find(ptr);
  *attributes = {orMemoryTypeUnregistered, -1, nullptr, 0};
  if (place) {
    *attributes = {orMemoryTypeDevice, place->device, place->base, place->size};
  }
  return orSuccess;
}

orError_t streamGetDefault(orStream_t* stream, int /*device*/) {
  static char queue; // there is none; its address is a name for it
  *stream = reinterpret_cast<orStream_t>(&queue);
  return orSuccess;
}

// LITERALINCLUDE START: ACME COPY
orError_t memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t /*stream*/) {
  const auto to = addresses().find(dst), from = addresses().find(src);
  if (size == 0) {
    return orSuccess;
  }
  const auto is =
      to ? (from ? orMemcpyDeviceToDevice : orMemcpyHostToDevice) : (from ? orMemcpyDeviceToHost : orMemcpyHostToHost);
  if (kind != orMemcpyDefault && kind != is) {
    return orDriverError(orErrorInvalidValue, "kind is %d; of dst %p and src %p it is %d", kind, dst, src, is);
  }
  if ((to && size > to->size - to->offset) || (from && size > from->size - from->offset)) {
    return orDriverError(
        orErrorInvalidValue, "dst is %p and src is %p; expected %zu bytes from there in one allocation", dst, src,
        size);
  }
  if (to && from) {
    return failed(
        "acme_move",
        acme_move(static_cast<int>(to->handle), to->offset, static_cast<int>(from->handle), from->offset, size));
  }
  if (to) {
    return failed("acme_write", acme_write(static_cast<int>(to->handle), to->offset, src, size));
  }
  if (from) {
    return failed("acme_read", acme_read(static_cast<int>(from->handle), from->offset, dst, size));
  }
  std::memmove(dst, src, size);
  return orSuccess;
}
// LITERALINCLUDE END: ACME COPY

orError_t memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  return memcpyWithStream(dst, src, size, kind, stream);
}

} // namespace acme::api::driver
