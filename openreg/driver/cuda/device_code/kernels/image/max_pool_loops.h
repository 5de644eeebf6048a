// Pooling by maxima on a GPU: a thread takes an element of the result, or of the gradient.
#pragma once

#include "kernels/image/image_gradient.h"

namespace openreg::kernels {

template <class C>
using MaxPool = MaximaOfSpans<C, PoolArgs>;

/// The gradients of the results that came from an element.
template <class C>
struct GradientOfMaximum {
  template <class Args>
  C operator()(const Args& args, int64_t element, int64_t result, const Place& /*position*/) const {
    return args.index[result] == element ? static_cast<const C*>(args.result)[result] : C(0);
  }
};

template <class C, class Args>
using MaxPoolBackward = ImageGradient<C, Args, GradientOfMaximum<C>>;

} // namespace openreg::kernels
