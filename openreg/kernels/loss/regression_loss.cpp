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

const Elementwise<"smooth_l1", SmoothL1, float, double> kSmoothL1;
const Elementwise<"smooth_l1_backward", SmoothL1Backward, float, double> kSmoothL1Backward;
const Elementwise<"huber", Huber, float, double> kHuber;
const Elementwise<"huber_backward", HuberBackward, float, double> kHuberBackward;
const Elementwise<"binary_cross_entropy", BinaryCrossEntropy, float, double> kBinaryCrossEntropy;
const Elementwise<"binary_cross_entropy_backward", BinaryCrossEntropyBackward, float, double>
    kBinaryCrossEntropyBackward;

} // namespace

} // namespace openreg::kernels
