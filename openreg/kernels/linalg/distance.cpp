// The kernels "cdist.…" and "pdist.…": distances between rows.
#include "kernels/linalg/distance.h"

#include "kernels/linalg/distance_loops.h"
#include "kernels/linalg/distance_rows.h"

namespace openreg::kernels {

namespace {

template <class C>
class Cdist : public DistanceRows {
 public:
  using DistanceRows::DistanceRows;
  void operator()(int64_t begin, int64_t end) const {
    forEachRun(begin, end, [&](const RowRun& run) {
      C* to = static_cast<C*>(args_.distances) + run.batch * args_.rows * args_.others;
      const auto placeOf = [&](int64_t row, int64_t other) { return row * args_.others + other; };
      findDistances(args_, run, /*after=*/false, to, placeOf);
    });
  }
};

template <class C>
class Pdist : public DistanceRows {
 public:
  using DistanceRows::DistanceRows;
  void operator()(int64_t begin, int64_t end) const {
    forEachRun(begin, end, [&](const RowRun& run) {
      const auto placeOf = [&](int64_t row, int64_t other) { return pairOf(row, other, args_.rows); };
      findDistances(args_, run, /*after=*/true, static_cast<C*>(args_.distances), placeOf);
    });
  }
};

const RowLoops<"cdist", DistanceArgs, Cdist, float, double> kCdist;
const RowLoops<"pdist", DistanceArgs, Pdist, float, double> kPdist;

} // namespace

} // namespace openreg::kernels
