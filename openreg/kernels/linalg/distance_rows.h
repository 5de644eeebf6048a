// The loop over rows that the kernels of distances have in common.
#pragma once

#include <algorithm>

#include "kernels/launch/registry.h"
#include "kernels/linalg/distance.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

/// Rows [begin, end) of one batch's `first`.
struct RowRun {
  int64_t batch;
  int64_t begin;
  int64_t end;
};

/// Calls `use(args, run)` for all rows of `first`, in runs.
template <class Use>
void forEachRun(const DistanceArgs& args, orKernelContext& context, Use) {
  context.parallelFor(
      &context, args.batch * args.rows, std::max(int64_t{1}, kGrain / (args.others * args.columns + 1)),
      [](void* state, int64_t begin, int64_t end) {
        const auto& args = *static_cast<const DistanceArgs*>(state);
        while (begin < end) {
          const int64_t batch = begin / args.rows;
          const int64_t before = batch * args.rows;
          const int64_t next = std::min(end, before + args.rows);
          Use{}(args, RowRun{batch, begin - before, next - before});
          begin = next;
        }
      },
      const_cast<DistanceArgs*>(&args));
}

/// Where "pdist" has the distance between row i and a later row j.
inline int64_t pairOf(int64_t i, int64_t j, int64_t rows) {
  return i * (2 * rows - i - 1) / 2 + j - i - 1;
}

} // namespace openreg::kernels
