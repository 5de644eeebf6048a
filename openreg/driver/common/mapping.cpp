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

Mapping Mapping::ofFile(int file, size_t bytes) {
  Mapping mapping;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (mapped != MAP_FAILED) {
    mapping.begin_ = static_cast<char*>(mapped);
    mapping.size_ = bytes;
    mapping.isFile_ = true;
  }
  return mapping;
}

Mapping::~Mapping() {
  if (begin_ != nullptr) {
    munmap(begin_, size_);
  }
}

Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)), isFile_(other.isFile_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  std::swap(isFile_, other.isFile_);
  return *this;
}

void Mapping::discard(size_t offset, size_t bytes) {
  // Of a file's pages there is one copy for all who have it mapped: that is what has to go.
  madvise(begin_ + offset, bytes, isFile_ ? MADV_REMOVE : MADV_DONTNEED);
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
