// The kernels "cdist_backward.…" and "pdist_backward.…": the gradients of distances between rows.
#include <algorithm>

#include "kernels/linalg/distance.h"
#include "kernels/linalg/distance_norms.h"
#include "kernels/linalg/distance_rows.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class T, class S, class C>
OPENREG_MULTIVERSION void addSlopes(S slope, const C* a, const C* b, int64_t columns, C* to) {
  for (int64_t i = 0; i < columns; ++i) {
    to[i] += static_cast<C>(slope(T(a[i] - b[i]))); // rounded as the distance was
  }
}

/// Adds what one distance contributes to the gradient of a row. @param at Where the distance is.
template <class C>
void addGradient(const DistanceArgs& args, const C* a, const C* b, int64_t at, C* to) {
  const double grad = static_cast<const C*>(args.grad)[at];
  const double distance = static_cast<const C*>(args.distances)[at];
  withSlope<C>(args.p, grad, distance, [&](auto slope) {
    using T = decltype(slope(C(0)));
    addSlopes<T>(slope, a, b, args.columns, to);
  });
}

template <class C>
struct CdistBackward {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRun(args, context, [](const DistanceArgs& args, const RowRun& run) {
      const C* second = static_cast<const C*>(args.second) + run.batch * args.others * args.columns;
      for (int64_t row = run.batch * args.rows + run.begin; row < run.batch * args.rows + run.end; ++row) {
        const C* first = static_cast<const C*>(args.first) + row * args.columns;
        C* to = static_cast<C*>(args.result) + row * args.columns;
        std::fill_n(to, args.columns, C(0));
        for (int64_t j = 0; j < args.others; ++j) {
          addGradient(args, first, second + j * args.columns, row * args.others + j, to);
        }
      }
    });
  }
};

template <class C>
struct PdistBackward {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRun(args, context, [](const DistanceArgs& args, const RowRun& run) {
      const C* in = static_cast<const C*>(args.first);
      for (int64_t row = run.begin; row < run.end; ++row) {
        C* to = static_cast<C*>(args.result) + row * args.columns;
        std::fill_n(to, args.columns, C(0));
        for (int64_t j = 0; j < args.rows; ++j) {
          if (j != row) {
            const int64_t at = pairOf(std::min(row, j), std::max(row, j), args.rows);
            addGradient(args, in + row * args.columns, in + j * args.columns, at, to);
          }
        }
      }
    });
  }
};

const RegisterTypes<"cdist_backward", DistanceArgs, CdistBackward, float, double> kCdistBackward;
const RegisterTypes<"pdist_backward", DistanceArgs, PdistBackward, float, double> kPdistBackward;

} // namespace

} // namespace openreg::kernels
