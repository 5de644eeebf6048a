// Elements that index tensors point to, some at a time.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Elements one after the other, which are found where they are by adding up.
struct IndexRun {
  char* dense;
  char* indexed;
  int64_t denseStride;
  int64_t indexedStride;
  const int64_t* offsets; ///< Bytes to add to `indexed`, one for each element; null: none.
  int64_t count;

  /// Whether both are arrays of elements of a size.
  bool isDense(int64_t size) const { return offsets == nullptr && denseStride == size && indexedStride == size; }
};

/// Calls `use(dense, indexed)` with the places of each element of a run. The strides that are usual are numbers that
/// the compiler knows: along the dimension that the indices are about, and one element for many.
template <int64_t size, class Use>
void forElements(const IndexRun& run, Use use) {
  const auto [dense, indexed, denseStride, indexedStride, offsets, count] = run; // writing may not change the copies
  if (offsets != nullptr && denseStride == size && indexedStride == 0) {
    for (int64_t i = 0; i < count; ++i) {
      use(dense + i * size, indexed + offsets[i]);
    }
  } else if (offsets == nullptr && denseStride == 0 && indexedStride == size) {
    for (int64_t i = 0; i < count; ++i) {
      use(dense, indexed + i * size);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      use(dense + i * denseStride, indexed + i * indexedStride + (offsets != nullptr ? offsets[i] : 0));
    }
  }
}

} // namespace openreg::kernels
