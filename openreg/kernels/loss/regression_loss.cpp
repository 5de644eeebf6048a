// Losses of each element: the kernels "smooth_l1", "huber", "binary_cross_entropy" and their backward kernels.
#include <cmath>

#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

/// Half the square of the error, and from `beta` on its amount.
template <class C>
struct SmoothL1 {
  C beta;
  C operator()(C input, C target) const {
    const C error = std::abs(input - target);
    return error < beta ? C(0.5) * error * error / beta : error - C(0.5) * beta;
  }
};
template <class C>
struct SmoothL1Backward {
  C norm, beta;
  C operator()(C input, C target, C grad) const {
    const C error = input - target;
    if (error <= -beta) {
      return -norm * grad;
    }
    return error >= beta ? norm * grad : norm * error * grad / beta;
  }
};

/// The same, `delta` times as large.
template <class C>
struct Huber {
  C delta;
  C operator()(C input, C target) const {
    const C error = std::abs(input - target);
    return error < delta ? C(0.5) * error * error : delta * (error - C(0.5) * delta);
  }
};
template <class C>
struct HuberBackward {
  C norm, delta;
  C operator()(C input, C target, C grad) const {
    const C error = input - target;
    if (error <= -delta) {
      return -norm * grad * delta;
    }
    return error >= delta ? norm * grad * delta : norm * error * grad;
  }
};

/// Logarithms are cut off, so that a certain and wrong guess has a loss, too.
template <class C>
struct BinaryCrossEntropy {
  C operator()(C input, C target) const {
    const C no = std::max(std::log1p(-input), C(-100));
    const C yes = std::max(std::log(input), C(-100));
    return (target - 1) * no - target * yes;
  }
};
template <class C>
struct BinaryCrossEntropyBackward {
  C operator()(C grad, C input, C target) const {
    return grad * (input - target) / std::max((1 - input) * input, C(1e-12));
  }
};

const Elementwise<SmoothL1, float, double> kSmoothL1("smooth_l1");
const Elementwise<SmoothL1Backward, float, double> kSmoothL1Backward("smooth_l1_backward");
const Elementwise<Huber, float, double> kHuber("huber");
const Elementwise<HuberBackward, float, double> kHuberBackward("huber_backward");
const Elementwise<BinaryCrossEntropy, float, double> kBinaryCrossEntropy("binary_cross_entropy");
const Elementwise<BinaryCrossEntropyBackward, float, double>
    kBinaryCrossEntropyBackward("binary_cross_entropy_backward");

} // namespace

} // namespace openreg::kernels
