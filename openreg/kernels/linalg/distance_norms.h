// What makes a distance of two rows' differences, and a gradient: p-norms, each with the terms that it sums.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/math/vector_math.h"

namespace openreg::kernels {

/// Whether a number of this size is neither too large nor too small for a float. If not, what it came from in floats
/// has to be computed in double.
inline bool isOfFloat(double number) {
  return std::fabs(number) > 1e-30 && std::fabs(number) < 1e30;
}

/// A norm of differences: of `term` of the size of each, joined, `finish`.
struct Norm {
  template <class C>
  using Term = C; ///< What terms are computed in.

  template <class T>
  T term(T difference) const {
    return difference;
  }
  template <class T>
  T join(T a, T b) const {
    return a + b;
  }
  double finish(double sum) const { return sum; }
};

/// p = 0: how many elements differ.
struct Differing : Norm {
  template <class T>
  T term(T difference) const {
    return difference > 0 ? T(1) : difference; // 0, or not a number
  }
};

struct Euclidean : Norm {
  template <class T>
  T term(T difference) const {
    return difference * difference;
  }
  double finish(double sum) const { return std::sqrt(sum); }
};

struct Largest : Norm {
  template <class T>
  T join(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};

struct AnyPower : Norm {
  template <class C>
  using Term = double;

  double p;

  double term(double difference) const { return std::pow(difference, p); }
  double finish(double sum) const { return std::pow(sum, 1 / p); }
};

/// Calls `use(norm)` with that of a p.
template <class Use>
void withNorm(double p, Use use) {
  if (p == 0) {
    use(Differing());
  } else if (p == 1) {
    use(Norm());
  } else if (p == 2) {
    use(Euclidean());
  } else if (p == std::numeric_limits<double>::infinity()) {
    use(Largest());
  } else {
    use(AnyPower{{}, p});
  }
}

/// The derivative of |x|; not a number of none.
template <class T>
T signOf(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

/// The gradient of a distance, times the one that came in, by one difference. T is what it is computed in.
template <class T>
struct LinearSlope {
  T factor;
  T operator()(T difference) const { return difference * factor; }
};

template <class T>
struct SignSlope {
  T grad;
  T operator()(T difference) const { return signOf(difference) * grad; }
};

struct LargestSlope {
  double grad;
  double distance;
  double operator()(double difference) const {
    const double apart = std::ceil(std::fabs(std::fabs(difference) - distance)); // not a number, of two infinities
    return signOf(difference) * (1 - (apart > 1 ? 1 : apart)) * grad;
  }
};

struct PowerSlope {
  double grad;
  double distance;
  double power;
  double operator()(double difference) const {
    const double size = std::pow(std::fabs(difference) / distance, power);
    return difference == 0 ? 0 : signOf(difference) * size * grad;
  }
};

/// Calls `use(slope)` with that of a distance of rows of C, unless the gradient is 0, whatever came in.
template <class C, class Use>
void withSlope(double p, double grad, double distance, Use use) {
  if (p == 1) {
    use(SignSlope<C>{static_cast<C>(grad)});
  } else if (p == std::numeric_limits<double>::infinity()) {
    use(LargestSlope{grad, distance});
  } else if (p == 0 || distance == 0) {
    return;
  } else if (p != 2) {
    use(PowerSlope{grad, distance, p - 1});
  } else if (grad == 0 || isOfFloat(grad / distance)) {
    use(LinearSlope<C>{static_cast<C>(grad / distance)});
  } else {
    use(LinearSlope<double>{grad / distance});
  }
}

} // namespace openreg::kernels
