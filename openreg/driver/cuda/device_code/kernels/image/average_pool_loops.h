// Pooling by averages on a GPU: a thread takes an element of the result, or of the gradient.
#pragma once

#include "kernels/image/image_gradient.h"

namespace openreg::kernels {

template <class C>
using AveragePool = AveragesOfSpans<C, PoolArgs>;

/// Equal shares of the gradients of all results that an element is part of.
template <class C>
struct GradientOfAverage {
  template <class Args>
  C operator()(const Args& args, int64_t /*element*/, int64_t result, const Place& position) const {
    const Covered covered(spansOf(args), position);
    return static_cast<const C*>(args.result)[result] / static_cast<C>(divisorOf(args, position, covered));
  }
};

template <class C, class Args>
using AveragePoolBackward = ImageGradient<C, Args, GradientOfAverage<C>>;

} // namespace openreg::kernels
