// A row of elements in memory.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// `count` elements of a type, `stride` bytes apart.
struct RowOfElements {
  void* data;
  DType dtype;
  int64_t stride;
  int64_t count;

  /// Whether it is an array of C.
  template <class C>
  bool isArray() const {
    return dtype == kDTypeOf<C> && stride == sizeof(C);
  }
};

} // namespace openreg::kernels
