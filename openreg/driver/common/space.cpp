// Reserves a device's addresses and their view.
#include "space.h"

#include <sys/mman.h>

namespace openreg {

std::shared_ptr<Space> Space::reserve(size_t bytes) {
  auto space = addressesOnly(bytes);
  if (space == nullptr) {
    return nullptr;
  }
  space->view_ = Mapping(bytes, kAlignment, Mapping::Access::ReadWrite);
  if (!space->view_) {
    return nullptr;
  }
  // Huge pages make large kernels and copies faster; where they are switched off nothing is lost. A forked child cannot
  // use the device, so it need not inherit its memory.
  madvise(space->view_.begin(), bytes, MADV_HUGEPAGE);
  madvise(space->view_.begin(), bytes, MADV_DONTFORK);
  return space;
}

std::shared_ptr<Space> Space::addressesOnly(size_t bytes) {
  auto space = std::make_shared<Space>();
  space->addresses_ = Mapping(bytes, kAlignment, Mapping::Access::None);
  space->base_ = space->addresses_.begin();
  space->size_ = space->addresses_.size();
  return space->addresses_ ? space : nullptr;
}

std::shared_ptr<Space> Space::viewOf(char* base, size_t bytes, int file) {
  auto space = std::make_shared<Space>();
  space->view_ = Mapping::ofFile(file, bytes);
  space->base_ = base;
  space->size_ = bytes;
  return space->view_ ? space : nullptr;
}

} // namespace openreg
