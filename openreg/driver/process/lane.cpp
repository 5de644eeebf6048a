// The window of a lane.
#include "lane.h"

#include <algorithm>

namespace openreg::process {

void Window::advance() {
  std::shift_left(parts_.begin(), parts_.end(), 1);
  --used_;
}

void Window::endPart(uint64_t fence) {
  parts_[used_++] = fence;
  bytes_ = 0;
}

} // namespace openreg::process
