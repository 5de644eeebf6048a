// The memory of a device: the executor hands it out, and the host keeps the books.
#include "common/calls/ipc_calls.h"
#include "openreg_driver.h"
#include "process/host.h"
#include "process/wire/text.h"

namespace openreg::process {

void* Device::allocate(size_t size) {
  const uint64_t life = this->life();
  // An error is the executor's, with what was asked, free and in total.
  const auto answer = request<AddressFrame>(Kind::Malloc, {pieceOf(SizeFrame{.size = size})});
  auto* allocated = reinterpret_cast<char*>(answer.address);
  if (memory.note(allocated, size) != Noted::Now) {
    throw Refused{distrust(
        life, described(
                  "has allocated %zu bytes at 0x%llx, which are not free addresses of its device", size,
                  static_cast<unsigned long long>(answer.address)))};
  }
  host_.peers.announce(*this, allocated, size);
  return allocated;
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

void Device::info(size_t* free, size_t* total) {
  const uint64_t life = this->life();
  const auto answer = request<MemInfoAnswer>(Kind::MemInfo, {});
  if (answer.total != memory.total() || answer.free > answer.total) {
    throw Refused{distrust(
        life,
        described(
            "says that %llu of %llu bytes are free; its device has %zu", static_cast<unsigned long long>(answer.free),
            static_cast<unsigned long long>(answer.total), memory.total()))};
  }
  *free = answer.free;
  *total = answer.total;
}

// All of the device's memory is one file, which is what a handle names a part of. So the bytes of an allocation needn't
// move when it is shared. But what has it open sees what its pages get to hold after it has been freed.

std::optional<orIpcMemHandle> Device::share(const char* base) {
  const std::lock_guard lock(mutex_);
  const std::optional<Block> block = memory.find(base);
  if (!block || block->base != base || executor_ == nullptr) {
    return std::nullopt;
  }
  return memoryFile_.handleOf(SharedKind::Memory, static_cast<size_t>(base - memory.base()), block->size);
}

void* Device::open(SharedPart part) {
  const auto it = executor();
  const size_t bytes = part.bytes;
  char* base = memory.reserve(bytes);
  if (base == nullptr) {
    throw Refused{noAddresses(index, bytes, memory.total())};
  }
  try {
    host_.peers.open(*this, it, base, std::move(part));
  } catch (...) {
    memory.close(base);
    throw;
  }
  return base;
}

bool Device::close(const char* base) {
  return host_.peers.close(*this, base);
}

bool Device::enablePeer(const Device& peer) {
  return host_.peers.enable(*this, peer);
}

bool Device::disablePeer(const Device& peer) {
  return host_.peers.disable(*this, peer);
}

} // namespace openreg::process
