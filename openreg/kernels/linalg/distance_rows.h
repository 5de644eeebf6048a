// The loop over rows that the kernels of distances have in common.
#pragma once

#include <algorithm>

#include "kernels/linalg/distance.h"
#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

/// Rows [begin, end) of one batch's `first`.
struct RowRun {
  int64_t batch;
  int64_t begin;
  int64_t end;
};

/// All rows of `first`.
class DistanceRows : public LoopOver<DistanceArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.batch * args_.rows; }
  int64_t grain() const { return std::max(int64_t{1}, kGrain / (args_.others * args_.columns + 1)); }

 protected:
  /// Calls `use(run)` for the rows [begin, end) of all batches, in runs.
  template <class Use>
  void forEachRun(int64_t begin, int64_t end, Use use) const {
    while (begin < end) {
      const int64_t batch = begin / args_.rows;
      const int64_t before = batch * args_.rows;
      const int64_t next = std::min(end, before + args_.rows);
      use(RowRun{batch, begin - before, next - before});
      begin = next;
    }
  }
};

/// Where "pdist" has the distance between row i and a later row j.
inline int64_t pairOf(int64_t i, int64_t j, int64_t rows) {
  return i * (2 * rows - i - 1) / 2 + j - i - 1;
}

} // namespace openreg::kernels
