// Several collectives that become one operation.
#pragma once

#include "distributed/process_group.h"

namespace openreg {

/// Between begin and end, what the group is asked for becomes one operation; if it is part of one already, it stays so.
template <class F>
c10::intrusive_ptr<c10d::Work> ProcessGroup::coalesced(F&& each) {
  const bool outermost = !coalescing_;
  if (outermost) {
    startCoalescing();
  }
  try {
    each();
  } catch (...) {
    coalescing_ = nullptr;
    throw;
  }
  return outermost ? endCoalescing() : nullptr;
}

} // namespace openreg
