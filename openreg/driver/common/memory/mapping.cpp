// Pages of this process.
#include "mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace openreg {

namespace {

size_t roundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

size_t pageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

Mapping::Mapping(size_t bytes, size_t alignment, Access access) {
  if (bytes > SIZE_MAX / 2) {
    return;
  }
  const size_t page = pageSize();
  const size_t wanted = roundUp(bytes, page);
  const size_t slack = alignment > page ? alignment : 0;
  const int protection = access == Access::None ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* mapped = mmap(nullptr, wanted + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return;
  }
  char* start = static_cast<char*>(mapped);
  const size_t skipped = slack == 0 ? 0 : (alignment - reinterpret_cast<uintptr_t>(start) % alignment) % alignment;
  begin_ = start + skipped;
  size_ = wanted;
  // What alignment has cost goes back at once.
  if (skipped > 0) {
    munmap(start, skipped);
  }
  if (slack > skipped) {
    munmap(begin_ + wanted, slack - skipped);
  }
}

Mapping Mapping::ofFile(int file, size_t bytes, size_t room) {
  Mapping mapping(room, 0, Access::None);
  if (!mapping || !mapping.replace(0, bytes, file, 0)) {
    return {};
  }
  mapping.fileBytes_ = bytes;
  return mapping;
}

bool Mapping::replace(size_t offset, size_t bytes, int file, size_t fileOffset) {
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  const auto at = static_cast<off_t>(fileOffset);
  return mmap(begin_ + offset, bytes, PROT_READ | PROT_WRITE, kFlags, file, at) != MAP_FAILED;
}

bool Mapping::renew(size_t offset, size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return mmap(begin_ + offset, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) != MAP_FAILED;
}

Mapping::~Mapping() {
  if (begin_ != nullptr) {
    munmap(begin_, size_);
  }
}

Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)), fileBytes_(other.fileBytes_) {
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  std::swap(fileBytes_, other.fileBytes_);
  return *this;
}

void Mapping::discard(size_t offset, size_t bytes) {
  // Of a file's pages there is one copy for all who have it mapped: that is what has to go.
  madvise(begin_ + offset, bytes, offset < fileBytes_ ? MADV_REMOVE : MADV_DONTNEED);
}

void Mapping::abandon(size_t bytes) {
  const size_t kept = roundUp(bytes, pageSize());
  if (kept < size_) {
    munmap(begin_ + kept, size_ - kept);
  }
  begin_ = nullptr;
  size_ = 0;
}

} // namespace openreg
