// A walk through the elements that index tensors point to.
#include "kernels/indexing/index_walk.h"

#include "kernels/indexing/index_error.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// Indices along a row.
struct Row {
  const char* first;
  int64_t distance; ///< Bytes from one to the next.
  int64_t size;     ///< They are less than this.
  int64_t wrap;     ///< What is added to negative ones.
  int64_t stride;   ///< What an index is multiplied by.
};

/// @param isDense The indices lie side by side. @param adds To the offsets; else these are new.
/// @return Whether all are in range.
template <bool isDense, bool adds>
OPENREG_MULTIVERSION bool findOffsets(const Row row, int64_t count, int64_t* offsets) {
  const int64_t distance = isDense ? sizeof(int64_t) : row.distance;
  int64_t outside = 0; // negative as soon as one index is
  OPENREG_IVDEP        // `offsets` are the walk's own.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = *reinterpret_cast<const int64_t*>(row.first + i * distance);
    const int64_t value = index + (index < 0 ? row.wrap : 0);
    outside |= value | (row.size - 1 - value);
    offsets[i] = value * row.stride + (adds ? offsets[i] : 0);
  }
  return outside >= 0;
}

/// One index, as whole rows have it: the loop's preparation would take longer than its work.
bool findOffset(const Row& row, bool adds, int64_t& offset) {
  const int64_t index = *reinterpret_cast<const int64_t*>(row.first);
  const int64_t value = index + (index < 0 ? row.wrap : 0);
  offset = value * row.stride + (adds ? offset : 0);
  return value >= 0 && value < row.size;
}

} // namespace

bool addOffsets(
    const IndexArgs& args, int k, const char* first, int64_t count, int64_t* offsets, orKernelContext& context) {
  const IndexArg& index = args.index[k];
  const int64_t wrap = args.wraps != 0 ? index.size : 0;
  const int64_t distance = args.dims == 0 ? 0 : index.strides[0];
  const bool isDense = distance == sizeof(int64_t);
  const auto find = k == 0 ? (isDense ? &findOffsets<true, false> : &findOffsets<false, false>)
                           : (isDense ? &findOffsets<true, true> : &findOffsets<false, true>);
  const Row row{first, distance, index.size, wrap, index.stride};
  const bool areInRange = count == 1 ? findOffset(row, k > 0, offsets[0]) : find(row, count, offsets);
  for (int64_t i = 0; i < count && !areInRange; ++i) {
    const int64_t value = *reinterpret_cast<const int64_t*>(first + i * distance);
    if (value < -wrap || value >= index.size) {
      failOutOfRange(context, value, index.dimension, index.size);
      break;
    }
  }
  return areInRange;
}

} // namespace openreg::kernels
