// The kernels "cdist.…", "cdist_backward.…", "pdist.…" and "pdist_backward.…": distances between rows.
#include "kernels/linalg/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class C>
C distance(const C* a, const C* b, int64_t columns, double p) {
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (p == 0) {
      sum += difference > 0 ? 1 : difference; // 0, or not a number
    } else if (p == 1) {
      sum += difference;
    } else if (p == 2) {
      sum += difference * difference;
    } else if (p == kInfinity) {
      sum = difference > sum || difference != difference ? difference : sum;
    } else {
      sum += std::pow(difference, p);
    }
  }
  return static_cast<C>(p == 2 ? std::sqrt(sum) : p == 0 || p == 1 || p == kInfinity ? sum : std::pow(sum, 1 / p));
}

/// The derivative of a distance by one element of the first row.
double derivative(double difference, double distance, double p) {
  const double sign = difference > 0 ? 1 : difference < 0 ? -1 : difference; // 0, or not a number
  if (p == 1) {
    return sign;
  }
  if (p == 2) {
    return difference / distance;
  }
  if (p == kInfinity) {
    const double apart = std::ceil(std::abs(std::abs(difference) - distance)); // not a number, of two infinities
    return sign * (1 - (apart > 1 ? 1 : apart));
  }
  return difference == 0 ? 0 : sign * std::pow(std::abs(difference) / distance, p - 1);
}

/// Calls `use(args, row)` for each row of `first`.
template <class Use>
void forEachRow(const DistanceArgs& args, orKernelContext& context, Use) {
  context.parallelFor(
      &context, args.batch * args.rows, std::max(int64_t{1}, kGrain / (args.others * args.columns + 1)),
      [](void* state, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          Use{}(*static_cast<const DistanceArgs*>(state), row);
        }
      },
      const_cast<DistanceArgs*>(&args));
}

/// Where "pdist" has the distance between row i and a later row j.
int64_t pairOf(int64_t i, int64_t j, int64_t rows) {
  return i * (2 * rows - i - 1) / 2 + j - i - 1;
}

template <class C>
struct Cdist {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const DistanceArgs& args, int64_t row) {
      const C* first = static_cast<const C*>(args.first) + row * args.columns;
      const C* second = static_cast<const C*>(args.second) + row / args.rows * args.others * args.columns;
      C* to = static_cast<C*>(args.distances) + row * args.others;
      for (int64_t j = 0; j < args.others; ++j) {
        to[j] = distance(first, second + j * args.columns, args.columns, args.p);
      }
    });
  }
};

template <class C>
struct Pdist {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const DistanceArgs& args, int64_t row) {
      const C* in = static_cast<const C*>(args.first);
      C* to = static_cast<C*>(args.distances);
      for (int64_t j = row + 1; j < args.rows; ++j) {
        to[pairOf(row, j, args.rows)] = distance(in + row * args.columns, in + j * args.columns, args.columns, args.p);
      }
    });
  }
};

/// Adds what one distance contributes to the gradient of a row.
template <class C>
void addGradient(const DistanceArgs& args, const C* a, const C* b, int64_t at, C* to) {
  const double grad = static_cast<const C*>(args.grad)[at];
  const double far = static_cast<const C*>(args.distances)[at];
  if (args.p == 0 || (far == 0 && args.p != 1 && args.p != kInfinity)) {
    return; // whatever the gradient
  }
  for (int64_t i = 0; i < args.columns; ++i) {
    to[i] += static_cast<C>(grad * derivative(static_cast<double>(a[i] - b[i]), far, args.p)); // rounded as `far` was
  }
}

template <class C>
struct CdistBackward {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const DistanceArgs& args, int64_t row) {
      const C* first = static_cast<const C*>(args.first) + row * args.columns;
      const C* second = static_cast<const C*>(args.second) + row / args.rows * args.others * args.columns;
      C* to = static_cast<C*>(args.result) + row * args.columns;
      std::fill_n(to, args.columns, C(0));
      for (int64_t j = 0; j < args.others; ++j) {
        addGradient(args, first, second + j * args.columns, row * args.others + j, to);
      }
    });
  }
};

template <class C>
struct PdistBackward {
  void operator()(const DistanceArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const DistanceArgs& args, int64_t row) {
      const C* in = static_cast<const C*>(args.first);
      C* to = static_cast<C*>(args.result) + row * args.columns;
      std::fill_n(to, args.columns, C(0));
      for (int64_t j = 0; j < args.rows; ++j) {
        if (j != row) {
          const int64_t at = pairOf(std::min(row, j), std::max(row, j), args.rows);
          addGradient(args, in + row * args.columns, in + j * args.columns, at, to);
        }
      }
    });
  }
};

const RegisterTypes<DistanceArgs, Cdist, float, double> kCdist("cdist");
const RegisterTypes<DistanceArgs, CdistBackward, float, double> kCdistBackward("cdist_backward");
const RegisterTypes<DistanceArgs, Pdist, float, double> kPdist("pdist");
const RegisterTypes<DistanceArgs, PdistBackward, float, double> kPdistBackward("pdist_backward");

} // namespace

} // namespace openreg::kernels
