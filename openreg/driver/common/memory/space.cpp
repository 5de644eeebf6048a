// Reserves a device's addresses and their view.
#include "space.h"

#include <sys/mman.h>

#include <cstdint>

namespace openreg {

namespace {

/// Huge pages make large kernels and copies faster; where they are switched off nothing is lost. A forked child cannot
/// use the device, so it need not inherit its memory.
void advise(char* begin, size_t bytes) {
  madvise(begin, bytes, MADV_HUGEPAGE);
  madvise(begin, bytes, MADV_DONTFORK);
}

} // namespace

std::shared_ptr<Space> Space::reserve(size_t bytes) {
  auto space = addressesOnly(bytes);
  if (space == nullptr) {
    return nullptr;
  }
  space->view_ = Mapping(space->size_, kAlignment, Mapping::Access::ReadWrite);
  if (!space->view_) {
    return nullptr;
  }
  advise(space->view_.begin(), space->size_);
  return space;
}

std::shared_ptr<Space> Space::addressesOnly(size_t bytes) {
  auto space = std::make_shared<Space>();
  if (bytes > SIZE_MAX / 4) {
    return nullptr;
  }
  space->addresses_ = Mapping(2 * bytes, kAlignment, Mapping::Access::None);
  space->base_ = space->addresses_.begin();
  space->size_ = space->addresses_.size();
  return space->addresses_ ? space : nullptr;
}

std::shared_ptr<Space> Space::viewOf(char* base, size_t bytes, int file) {
  auto space = std::make_shared<Space>();
  space->view_ = Mapping::ofFile(file, bytes, 2 * bytes);
  space->base_ = base;
  space->size_ = 2 * bytes;
  return space->view_ ? space : nullptr;
}

std::shared_ptr<Space> Space::given(char* base, size_t bytes) {
  auto space = std::make_shared<Space>();
  space->base_ = base;
  space->size_ = bytes;
  return space;
}

bool Space::replace(const void* ptr, size_t bytes, int file, size_t fileOffset) {
  const bool done = view_.replace(offsetOf(ptr), bytes, file, fileOffset);
  if (done) {
    advise(view(ptr), bytes);
  }
  return done;
}

bool Space::renew(const void* ptr, size_t bytes) {
  const bool done = view_.renew(offsetOf(ptr), bytes);
  if (done) {
    advise(view(ptr), bytes);
  }
  return done;
}

} // namespace openreg
