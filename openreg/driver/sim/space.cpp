// Reserves a device's addresses and their view.
#include "space.h"

#include <sys/mman.h>

namespace openreg::sim {

std::shared_ptr<Space> Space::reserve(size_t bytes) {
  auto space = std::make_shared<Space>();
  space->addresses_ = Mapping(bytes, kAlignment, Mapping::Access::None);
  space->view_ = Mapping(bytes, kAlignment, Mapping::Access::ReadWrite);
  if (!space->addresses_ || !space->view_) {
    return nullptr;
  }
  // Huge pages make large kernels and copies faster; where they are switched off nothing is lost. A forked child cannot
  // use the device, so it need not inherit its memory.
  madvise(space->view_.begin(), bytes, MADV_HUGEPAGE);
  madvise(space->view_.begin(), bytes, MADV_DONTFORK);
  return space;
}

} // namespace openreg::sim
