// Arguments of the kernels "nonzero_count", "nonzero" and "masked_select". Plain data: the launcher includes this file,
// too.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/loop/dims.h"

namespace openreg::kernels {

/// Elements that are counted as one; each gets its own place in `counts`.
constexpr int64_t kNonzeroChunk = 16 * 1024;

/// Finds the elements that are not 0. Counting comes first, for only then it is known how much memory the rest needs.
struct NonzeroArgs {
  const void* input;
  int64_t* counts;   ///< For each chunk of elements, how many there are before it; then, of all. Written by the count.
  int64_t* indices;  ///< By "nonzero": `limit` rows of `dims` numbers each, written.
  int64_t limit;     ///< Most rows to write.
  int64_t rowStride; ///< Numbers from a row to the next.
  int64_t columnStride; ///< Numbers from a number of a row to the next.
  DType dtype;          ///< Of the input.
  int32_t dims;         ///< Dimension 0 is the fastest: the tensor's last.
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims]; ///< Bytes.
};

/// How many chunks there are, and how many are worth a thread.
inline int64_t chunksOf(const NonzeroArgs& args) {
  return (elementCount(args.dims, args.sizes) + kNonzeroChunk - 1) / kNonzeroChunk;
}
constexpr int64_t kChunksOfAThread = 2;

/// Takes the elements that a mask chooses. "nonzero_count" has gone through the mask before.
struct MaskedSelectArgs {
  NonzeroArgs mask;
  const void* source;  ///< As many elements as the mask has, contiguous.
  void* values;        ///< As many as were counted, written.
  int64_t elementSize; ///< Of both.
};

} // namespace openreg::kernels
