// The kernels "cdist_backward.…" and "pdist_backward.…": the gradients of distances between rows.
#include <algorithm>

#include "kernels/linalg/distance.h"
#include "kernels/linalg/distance_loops.h"
#include "kernels/linalg/distance_rows.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

template <class C>
class DistanceGradient : public DistanceRows {
 public:
  using DistanceRows::DistanceRows;

 protected:
  C* result(int64_t row) const { return static_cast<C*>(args_.result) + row * args_.columns; }

  /// Adds what one distance contributes to the gradient of a row. @param at Where the distance is.
  void addGradient(const C* a, const C* b, int64_t at, C* to) const {
    const double grad = static_cast<const C*>(args_.grad)[at];
    const double distance = static_cast<const C*>(args_.distances)[at];
    withSlope<C>(args_.p, grad, distance, [&](auto slope) {
      using T = decltype(slope(C(0)));
      addSlopes<T>(slope, a, b, args_.columns, to);
    });
  }
};

template <class C>
class CdistBackward : public DistanceGradient<C> {
 public:
  using DistanceGradient<C>::DistanceGradient;
  void operator()(int64_t begin, int64_t end) const {
    const DistanceArgs& args = this->args_;
    for (int64_t row = begin; row < end; ++row) {
      const C* first = static_cast<const C*>(args.first) + row * args.columns;
      const C* second = static_cast<const C*>(args.second) + row / args.rows * args.others * args.columns;
      clearSums(this->result(row), args.columns);
      for (int64_t j = 0; j < args.others; ++j) {
        this->addGradient(first, second + j * args.columns, row * args.others + j, this->result(row));
      }
    }
  }
};

template <class C>
class PdistBackward : public DistanceGradient<C> {
 public:
  using DistanceGradient<C>::DistanceGradient;
  void operator()(int64_t begin, int64_t end) const {
    const DistanceArgs& args = this->args_;
    const C* in = static_cast<const C*>(args.first);
    for (int64_t row = begin; row < end; ++row) {
      clearSums(this->result(row), args.columns);
      for (int64_t j = 0; j < args.rows; ++j) {
        if (j != row) {
          const int64_t at = pairOf(std::min(row, j), std::max(row, j), args.rows);
          this->addGradient(in + row * args.columns, in + j * args.columns, at, this->result(row));
        }
      }
    }
  }
};

const RowLoops<"cdist_backward", DistanceArgs, CdistBackward, float, double> kCdistBackward;
const RowLoops<"pdist_backward", DistanceArgs, PdistBackward, float, double> kPdistBackward;

} // namespace

} // namespace openreg::kernels
