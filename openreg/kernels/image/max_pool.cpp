// The kernels "max_pool" and "adaptive_max_pool", and their backward kernels.
#include "kernels/image/max_pool_loops.h"

namespace openreg::kernels {

namespace {

template <class C>
using AdaptiveMaxPool = MaximaOfSpans<C, AdaptivePoolArgs>;
template <class C>
using WindowBackward = MaxPoolBackward<C, PoolArgs>;
template <class C>
using AdaptiveBackward = MaxPoolBackward<C, AdaptivePoolArgs>;

const Loops<"max_pool", PoolArgs, MaxPool, int64_t, float, double> kForward;
const Loops<"max_pool_backward", PoolArgs, WindowBackward, int64_t, float, double> kBackward;
const Loops<"adaptive_max_pool", AdaptivePoolArgs, AdaptiveMaxPool, float, double> kAdaptive;
const Loops<"adaptive_max_pool_backward", AdaptivePoolArgs, AdaptiveBackward, float, double> kAdaptiveBackward;

} // namespace

} // namespace openreg::kernels
