// The kernels "average_pool", "adaptive_average_pool" and their backward kernels.
#include "kernels/image/average_pool_loops.h"

namespace openreg::kernels {

namespace {

template <class C>
using AdaptiveAveragePool = AveragesOfSpans<C, AdaptivePoolArgs>;
template <class C>
using WindowBackward = AveragePoolBackward<C, PoolArgs>;
template <class C>
using AdaptiveBackward = AveragePoolBackward<C, AdaptivePoolArgs>;

const Loops<"average_pool", PoolArgs, AveragePool, int64_t, float, double> kForward;
const Loops<"average_pool_backward", PoolArgs, WindowBackward, int64_t, float, double> kBackward;
const Loops<"adaptive_average_pool", AdaptivePoolArgs, AdaptiveAveragePool, float, double> kAdaptive;
const Loops<"adaptive_average_pool_backward", AdaptivePoolArgs, AdaptiveBackward, float, double> kAdaptiveBackward;

} // namespace

} // namespace openreg::kernels
