// The memory of one device.
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "common/check.h"

namespace openreg {

namespace {

constexpr int kPoison = 0xCB;

size_t rounded(size_t size) {
  return (size + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

} // namespace

Memory::Memory(int device, size_t bytes, bool poison)
    : device_(device), total_(rounded(bytes)), poison_(poison), arena_(total_), foreign_(total_) {}

void Memory::resize(size_t bytes) {
  const std::unique_lock lock(mutex_);
  total_ = rounded(bytes);
  arena_ = Arena(total_);
  foreign_ = Arena(total_);
}

size_t Memory::free() const {
  const std::shared_lock lock(mutex_);
  return total_ - used_;
}

void* Memory::allocate(size_t size) {
  const std::unique_lock lock(mutex_);
  if (size > total_) {
    return nullptr; // Before rounding, which could overflow.
  }
  if (!prepareLocked()) {
    return nullptr;
  }
  const std::optional<size_t> offset = arena_.take(rounded(size));
  if (!offset) {
    return nullptr;
  }
  char* base = space_->base() + *offset;
  if (poison_) {
    std::memset(space_->view(base), kPoison, rounded(size));
  }
  used_ += rounded(size);
  add(base, size);
  return base;
}

bool Memory::prepare() {
  const std::unique_lock lock(mutex_);
  return prepareLocked();
}

bool Memory::prepareLocked() {
  if (!space_) {
    auto space = Space::reserve(total_);
    if (!space) {
      return false;
    }
    settle(std::move(space));
  }
  return true;
}

void Memory::add(const char* base, size_t size) {
  blocks_.emplace(base, size);
  highWater_ = std::max(highWater_, static_cast<size_t>(base - space_->base()) + rounded(size));
  if (poison_) {
    noteAllocation(device_, base, size);
  }
}

void Memory::settle(std::shared_ptr<Space> space) {
  space_ = std::move(space);
  distance_.store(space_->view(space_->base()) - space_->base(), std::memory_order_release);
  end_.store(space_->base() + space_->size(), std::memory_order_release);
  begin_.store(space_->base(), std::memory_order_release);
  noteAddresses(device_, space_->base(), space_->size());
}

void Memory::adopt(std::shared_ptr<Space> space) {
  const std::unique_lock lock(mutex_);
  settle(std::move(space));
}

Noted Memory::note(const char* base, size_t size) {
  const std::unique_lock lock(mutex_);
  const Noted noted = noteWithin(base, size, 0, total_);
  if (noted == Noted::Now) {
    used_ += rounded(size);
  }
  return noted;
}

Noted Memory::noteReserved(const char* base, size_t size) {
  const std::unique_lock lock(mutex_);
  return noteWithin(base, size, total_, addresses());
}

/// The allocation has to lie in [lower, upper) of the addresses.
Noted Memory::noteWithin(const char* base, size_t size, size_t lower, size_t upper) {
  if (base < begin_.load() || base >= end_.load()) {
    return Noted::Not;
  }
  const size_t offset = static_cast<size_t>(base - begin_.load());
  if (offset % kMemoryAlignment != 0 || offset < lower || offset >= upper || size == 0 || size > total_ ||
      rounded(size) > upper - offset) {
    return Noted::Not;
  }
  const auto next = blocks_.lower_bound(base);
  if (next != blocks_.end() && next->first < base + rounded(size)) {
    return next->first == base && next->second == size ? Noted::Already : Noted::Not;
  }
  if (next != blocks_.begin() && std::prev(next)->first + rounded(std::prev(next)->second) > base) {
    return Noted::Not;
  }
  add(base, size);
  return Noted::Now;
}

bool Memory::forget(const char* base) {
  const std::unique_lock lock(mutex_);
  const auto block = blocks_.find(base);
  if (block == blocks_.end() || isForeign(base)) {
    return false;
  }
  if (poison_) {
    noteFree(base);
  }
  used_ -= rounded(block->second);
  blocks_.erase(block);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Memory::release(void* ptr) {
  const std::unique_lock lock(mutex_);
  const auto block = blocks_.find(static_cast<const char*>(ptr));
  if (block == blocks_.end() || isForeign(ptr)) {
    return false;
  }
  const size_t bytes = rounded(block->second);
  if (poison_) {
    noteFree(block->first);
  }
  // Who has it open in another process keeps the old bytes: these addresses get others. Where the machine refuses even
  // that, nobody is given them again.
  if (shared_.erase(block->first) == 0 || space_->renew(ptr, bytes)) {
    if (poison_) {
      std::memset(space_->view(ptr), kPoison, bytes);
    }
    const size_t offset = static_cast<size_t>(block->first - space_->base());
    const Arena::Piece piece = arena_.give(offset, bytes);
    if (!poison_) {
      giveBack(offset, bytes, piece);
    }
    used_ -= bytes;
  }
  blocks_.erase(block);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

std::optional<orIpcMemHandle> Memory::share(const char* base) {
  const std::unique_lock lock(mutex_);
  const auto block = blocks_.find(base);
  if (block == blocks_.end()) {
    return std::nullopt;
  }
  SharedFile& file = shared_[base];
  try {
    if (file.number() < 0) {
      SharedFile made(rounded(block->second));
      made.write(space_->view(base), block->second);
      if (!space_->replace(base, rounded(block->second), made.number(), 0)) {
        throw std::bad_alloc();
      }
      file = std::move(made);
    }
  } catch (...) {
    shared_.erase(base);
    throw;
  }
  return file.handleOf(SharedKind::Memory, 0, block->second);
}

char* Memory::reserve(size_t size) {
  const std::unique_lock lock(mutex_);
  const std::optional<size_t> offset =
      size <= total_ && space_ != nullptr ? foreign_.take(rounded(size)) : std::nullopt;
  if (!offset) {
    return nullptr;
  }
  char* base = space_->base() + total_ + *offset;
  add(base, size);
  return base;
}

bool Memory::show(const char* base, size_t size, const Descriptor& file, size_t offset) {
  const std::unique_lock lock(mutex_);
  return space_ != nullptr && space_->replace(base, rounded(size), file.number(), offset);
}

bool Memory::close(const char* base) {
  const std::unique_lock lock(mutex_);
  const auto block = blocks_.find(base);
  if (block == blocks_.end() || !isForeign(base)) {
    return false;
  }
  if (poison_) {
    noteFree(base);
  }
  const size_t bytes = rounded(block->second);
  // A driver that has addresses alone has nothing to take away. Where the machine refuses, they are not used again.
  if (!space_->hasView() || space_->renew(base, bytes)) {
    foreign_.give(static_cast<size_t>(base - space_->base()) - total_, bytes);
  }
  blocks_.erase(block);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

/// A huge page goes back to the system as soon as all of it is free. Smaller parts would cost more calls than they are
/// worth, and would break huge pages up.
void Memory::giveBack(size_t offset, size_t bytes, const Arena::Piece& free) {
  constexpr size_t kPage = Space::kAlignment;
  const size_t first = std::max(offset / kPage, (free.offset + kPage - 1) / kPage);
  const size_t last = std::min((offset + bytes + kPage - 1) / kPage, (free.offset + free.bytes) / kPage);
  if (first < last) {
    space_->discard(first * kPage, (last - first) * kPage);
  }
}

std::optional<Block> Memory::find(const void* ptr) const {
  const std::shared_lock lock(mutex_);
  const auto next = blocks_.upper_bound(static_cast<const char*>(ptr));
  if (next == blocks_.begin()) {
    return std::nullopt;
  }
  const Block block{std::prev(next)->first, std::prev(next)->second};
  return block.holds(ptr, 0) ? std::optional(block) : std::nullopt;
}

std::optional<Span> Memory::span(const void* ptr, size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto next = blocks_.upper_bound(static_cast<const char*>(ptr));
  if (next == blocks_.begin() || !Block{std::prev(next)->first, std::prev(next)->second}.holds(ptr, bytes)) {
    return std::nullopt;
  }
  return Span{space_, space_->view(ptr)};
}

bool Memory::covered(const void* ptr) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(retired_, [&](const auto& range) { return ptr >= range.first && ptr < range.second; });
}

void Memory::reset() {
  const std::unique_lock lock(mutex_);
  if (!space_) {
    return;
  }
  if (highWater_ > 0) {
    retired_.emplace_back(space_->base(), space_->base() + highWater_);
    everReset_.store(true, std::memory_order_release);
    anyReset_.store(true, std::memory_order_relaxed);
  }
  begin_.store(nullptr, std::memory_order_release);
  end_.store(nullptr, std::memory_order_release);
  for (const auto& [base, size] : blocks_) {
    if (poison_) {
      noteFree(base);
    }
  }
  space_->retire(highWater_);
  space_.reset();
  arena_ = Arena(total_);
  foreign_ = Arena(total_);
  blocks_.clear();
  shared_.clear();
  used_ = 0;
  highWater_ = 0;
  generation_.fetch_add(1, std::memory_order_release);
}

} // namespace openreg
