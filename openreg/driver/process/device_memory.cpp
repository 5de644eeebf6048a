// The memory of a device: the executor hands it out, and the host keeps the books.
#include "host.h"
#include "openreg_driver.h"
#include "wire/text.h"

namespace openreg::process {

orError_t Device::allocate(void** ptr, size_t size) {
  const uint64_t life = this->life();
  AddressFrame answer;
  if (const orError_t error = request(Kind::Malloc, {pieceOf(SizeFrame{.size = size})}, &answer, sizeof(answer))) {
    return error; // The executor's, with what was asked, free and in total.
  }
  if (memory.note(reinterpret_cast<const char*>(answer.address), size) != Noted::Now) {
    return distrust(
        life, described(
                  "has allocated %zu bytes at 0x%llx, which are not free addresses of its device", size,
                  static_cast<unsigned long long>(answer.address)));
  }
  *ptr = reinterpret_cast<void*>(answer.address);
  host_.peers.announce(*this, *ptr, size);
  return orSuccess;
}

bool Device::release(const void* ptr) {
  if (!memory.forget(static_cast<const char*>(ptr))) {
    return false;
  }
  // Posted in this order: an address is free for the next Malloc only when all have forgotten it.
  host_.peers.announce(*this, ptr, 0);
  if (const auto executor = running()) {
    executor->post(Kind::Free, {pieceOf(AddressFrame{.address = reinterpret_cast<uint64_t>(ptr)})});
  }
  return true;
}

orError_t Device::info(size_t* free, size_t* total) {
  const uint64_t life = this->life();
  MemInfoAnswer answer;
  if (const orError_t error = request(Kind::MemInfo, {}, &answer, sizeof(answer))) {
    return error;
  }
  if (answer.total != memory.total() || answer.free > answer.total) {
    return distrust(
        life,
        described(
            "says that %llu of %llu bytes are free; its device has %zu", static_cast<unsigned long long>(answer.free),
            static_cast<unsigned long long>(answer.total), memory.total()));
  }
  *free = answer.free;
  *total = answer.total;
  return orSuccess;
}

bool Device::canAccess(const Device& peer) const {
  return host_.peers.canAccess(*this, peer);
}

bool Device::enablePeer(const Device& peer) {
  return host_.peers.enable(*this, peer);
}

bool Device::disablePeer(const Device& peer) {
  return host_.peers.disable(*this, peer);
}

} // namespace openreg::process
