// Pinned host memory.
#include "pinned.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "host.h"

namespace openreg::process {

namespace {

size_t pageBytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// As much as the machine has: pages appear as they are used.
size_t machineBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * pageBytes();
}

size_t wholePages(size_t size) {
  return (size + pageBytes() - 1) / pageBytes() * pageBytes();
}

} // namespace

Pinned::Pinned()
    : memory_(createMemory("openreg-pinned", machineBytes())), view_(machineBytes()), arena_(machineBytes()) {
  static Pinned* it = this; // There is one in a process, for as long as that lives.
  pthread_atfork(
      [] { it->mutex_.lock(); }, [] { it->mutex_.unlock(); },
      [] {
        it->keepForChild();
        it->mutex_.unlock();
      });
}

void Pinned::keepForChild() {
  for (const auto& [base, entry] : blocks_) {
    view_.open(memory_, static_cast<size_t>(base - view_.begin()), wholePages(entry.size), View::Sharing::Private);
  }
}

void* Pinned::allocate(size_t size, int device) {
  if (size > view_.bytes()) {
    return nullptr; // Before rounding, which could overflow.
  }
  const std::lock_guard lock(mutex_);
  const auto offset = arena_.take(wholePages(size));
  if (!offset) {
    return nullptr;
  }
  char* base = view_.begin() + *offset;
  if (!view_.open(memory_, *offset, wholePages(size))) {
    arena_.give(*offset, wholePages(size));
    return nullptr;
  }
  blocks_.emplace(base, Entry{.size = size, .device = device, .uses = {}});
  return base;
}

bool Pinned::release(void* ptr) {
  Entry leaving;
  {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(static_cast<const char*>(ptr));
    if (block == blocks_.end() || block->second.leaving) {
      return false;
    }
    block->second.leaving = true;
    leaving = block->second;
  }
  for (const Point& use : leaving.uses.points()) {
    use.wait();
  }
  const RangeFrame pages{
      static_cast<uint64_t>(static_cast<const char*>(ptr) - view_.begin()), wholePages(leaving.size)};
  for (const auto& device : host().devices) {
    const auto executor = device->running();
    if (executor != nullptr && leaving.openIn[static_cast<size_t>(device->index)] == device->life() + 1) {
      executor->post(Kind::Unpin, {pieceOf(pages)});
    }
  }
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(static_cast<const char*>(ptr));
  const size_t bytes = pages.bytes;
  const size_t offset = pages.offset;
  view_.close(offset, bytes); // Who reads it now faults.
  fallocate(
      memory_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
      static_cast<off_t>(bytes)); // The pages go back to the system.
  arena_.give(offset, bytes);
  blocks_.erase(block);
  return true;
}

Pinned::Blocks::const_iterator Pinned::blockOf(const void* ptr, size_t size) const {
  const auto next = blocks_.upper_bound(static_cast<const char*>(ptr));
  if (next == blocks_.begin()) {
    return blocks_.end();
  }
  const auto block = std::prev(next);
  const bool inside = Block{block->first, block->second.size}.holds(ptr, size) && !block->second.leaving;
  return inside ? block : blocks_.end();
}

std::optional<PinnedBlock> Pinned::find(const void* ptr) const {
  if (!covers(ptr)) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto block = blockOf(ptr, 0);
  if (block == blocks_.end()) {
    return std::nullopt;
  }
  return PinnedBlock{block->first, block->second.size, block->second.device};
}

std::optional<uint64_t> Pinned::offsetOf(const void* ptr, size_t size) const {
  if (!covers(ptr)) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (blockOf(ptr, size) == blocks_.end()) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(static_cast<const char*>(ptr) - view_.begin());
}

void Pinned::open(const void* ptr, Device& device) {
  const uint64_t life =
      device.life() + 1; // Read first: an executor of a later life is told once more, which is no harm.
  const auto at = static_cast<size_t>(device.index);
  RangeFrame frame;
  {
    const std::lock_guard lock(mutex_);
    const auto block = blockOf(ptr, 0);
    if (block == blocks_.end() || block->second.openIn[at] == life) {
      return; // Freed meanwhile: the copy will find no such memory.
    }
    frame = {static_cast<uint64_t>(block->first - view_.begin()), wholePages(block->second.size)};
  }
  device.executor()->post(Kind::Pin, {pieceOf(frame)});
  const std::lock_guard lock(mutex_);
  if (const auto block = blockOf(ptr, 0); block != blocks_.end()) {
    blocks_.find(block->first)->second.openIn[at] = life; // Only now: who finds it set posts a copy.
  }
}

Pinned::Bounce::Bounce(Pinned& from, int device) : from_(from), device_(device) {
  {
    const std::lock_guard lock(from_.mutex_);
    if (auto& spare = from_.spare_[static_cast<size_t>(device)]; !spare.empty()) {
      bytes_ = spare.back();
      spare.pop_back();
      return;
    }
  }
  bytes_ = static_cast<char*>(from_.allocate(kInFlight * kCopyChunk, device));
  if (bytes_ == nullptr) {
    throw std::bad_alloc();
  }
}

Pinned::Bounce::~Bounce() {
  for (const Point& end : busy) {
    end.wait();
  }
  const std::lock_guard lock(from_.mutex_);
  from_.spare_[static_cast<size_t>(device_)].push_back(bytes_);
}

void Pinned::addUse(const void* ptr, const Point& point) {
  const std::lock_guard lock(mutex_);
  const auto found = blockOf(ptr, 0);
  if (found == blocks_.end()) {
    return; // Freed meanwhile, which the program should not have done; its pages stay mapped in the executor.
  }
  blocks_.find(found->first)->second.uses.note(point);
}

} // namespace openreg::process
