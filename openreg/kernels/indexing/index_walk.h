// A walk through the elements that index tensors point to.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/indexing/index_run.h"
#include "kernels/indexing/indexing.h"
#include "kernels/loop/block.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// What a kernel does with a run.
using UseIndexRun = void (*)(const IndexRun& run);

/// Finds the offsets that an index tensor's next `count` elements mean. @param k Its number. The offsets of all but the
/// first are added to those that are there. @param first Of the elements.
/// @return Whether all are in range; if not, the kernel has failed.
bool addOffsets(
    const IndexArgs& args, int k, const char* first, int64_t count, int64_t* offsets, orKernelContext& context);

/// Goes through a part of the space, in order, a run of elements at a time.
class IndexWalk {
 public:
  /// Stands at element number `at`.
  IndexWalk(const IndexArgs& args, orKernelContext& context, int64_t at) : args_(args), context_(context) {
    for (int i = 0; i < args.dims; ++i) {
      at_[i] = at % args.sizes[i];
      at /= args.sizes[i];
      moveAlong(i, at_[i]);
    }
    for (int k = 0; k < args.indices; ++k) {
      constant_ = constant_ && (args.dims == 0 || args.index[k].strides[0] == 0);
    }
  }

  /// Of rows that have one index each, uses only those whose offset is in [low, high).
  void onlyTo(int64_t low, int64_t high) {
    low_ = low;
    high_ = high;
  }

  /// Uses the next `count` elements. Stops at an index that is out of range.
  void advance(int64_t count, UseIndexRun use) {
    const bool isPoint = args_.dims == 0;
    while (count > 0) {
      const int64_t limit = constant_ ? count : std::min(count, kBlock);
      const int64_t run = isPoint ? 1 : std::min(limit, args_.sizes[0] - at_[0]);
      IndexRun found{
          dense(),
          indexed(),
          isPoint ? 0 : args_.denseStrides[0],
          isPoint ? 0 : args_.indexedStrides[0],
          constant_ ? nullptr : offsets_,
          run};
      if (!addIndices(constant_ ? 1 : run)) {
        return;
      }
      if (constant_) {
        found.indexed += offsets_[0];
      }
      if (!constant_ || (offsets_[0] >= low_ && offsets_[0] < high_)) {
        use(found);
      }
      count -= run;
      if (!isPoint) {
        step(run);
      }
    }
  }

 private:
  char* dense() const { return static_cast<char*>(args_.dense) + dense_; }
  char* indexed() const { return static_cast<char*>(args_.indexed) + indexed_; }

  void moveAlong(int dim, int64_t steps) {
    dense_ += steps * args_.denseStrides[dim];
    indexed_ += steps * args_.indexedStrides[dim];
    for (int k = 0; k < args_.indices; ++k) {
      index_[k] += steps * args_.index[k].strides[dim];
    }
  }

  void step(int64_t run) {
    at_[0] += run;
    moveAlong(0, run);
    for (int i = 0; at_[i] == args_.sizes[i] && i + 1 < args_.dims; ++i) {
      moveAlong(i, -at_[i]);
      at_[i] = 0;
      ++at_[i + 1];
      moveAlong(i + 1, 1);
    }
  }

  /// Fills the next `count` elements of offsets_.
  bool addIndices(int64_t count) {
    if (args_.indices == 0) {
      std::fill_n(offsets_, count, int64_t{0});
    }
    for (int k = 0; k < args_.indices; ++k) {
      const char* first = reinterpret_cast<const char*>(args_.index[k].data) + index_[k];
      if (!addOffsets(args_, k, first, count, offsets_, context_)) {
        return false;
      }
    }
    return true;
  }

  const IndexArgs& args_;
  orKernelContext& context_;
  int64_t at_[kMaxDims];
  int64_t dense_ = 0; // Bytes from the start to where the walk stands.
  int64_t indexed_ = 0;
  int64_t index_[kMaxIndices]{};
  bool constant_ = true;                              ///< Whether the indices are the same for all elements of a run.
  int64_t low_ = std::numeric_limits<int64_t>::min(); ///< Offsets of rows that are used.
  int64_t high_ = std::numeric_limits<int64_t>::max();
  int64_t offsets_[kBlock];
};

} // namespace openreg::kernels
