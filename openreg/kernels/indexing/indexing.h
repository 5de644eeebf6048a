// Arguments of the kernels that find elements by index tensors: "index", "index_put" and "index_reduce". Plain data:
// the launcher includes this file, too.
#pragma once

#include <cstddef>

#include "kernels/launch/dtype.h"
#include "kernels/loop/dims.h"

namespace openreg::kernels {

/// Most index tensors of a launch.
constexpr int kMaxIndices = 16;

/// What "index_reduce" does where an element arrives.
enum class Arrival : int32_t { Add, Multiply, Maximum, Minimum };

/// One index tensor: what it says, times `stride`, is how far an element lies from where it would lie with index 0.
struct IndexArg {
  const int64_t* data;       ///< First index; device memory, read.
  int64_t size;              ///< Indices are less than this.
  int64_t stride;            ///< Bytes in `indexed`.
  int64_t dimension;         ///< For the error of an index that is out of range.
  int64_t strides[kMaxDims]; ///< Bytes.
};

/// Two tensors and index tensors over one space: `dense` is walked, `indexed` is where the indices point. No index
/// points outside of `indexed`, or the kernel fails and writes nothing there.
struct IndexArgs {
  void* dense;   ///< Of "index" the output, else the input.
  void* indexed; ///< Of "index" the input, else the output.
  int64_t elementSize;
  DType dtype;     ///< Of both; used by "index_reduce" only.
  Arrival arrival; ///< Of "index_reduce".
  int32_t dims;    ///< Dimension 0 is the fastest.
  int32_t indices; ///< How many of `index` there are. A launch ends with the last.
  int64_t wraps;   ///< Whether negative indices count from the end.
  int64_t sizes[kMaxDims];
  int64_t denseStrides[kMaxDims];   ///< Bytes.
  int64_t indexedStrides[kMaxDims]; ///< Bytes; 0 in dimensions where the indices say where.
  IndexArg index[kMaxIndices];

  /// Bytes that are used.
  size_t size() const { return offsetof(IndexArgs, index) + static_cast<size_t>(indices) * sizeof(IndexArg); }
};
static_assert(sizeof(IndexArgs) <= 4096);

} // namespace openreg::kernels
