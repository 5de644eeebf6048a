// The kernels "upsample" and "upsample_backward".
#include "kernels/image/upsample_loops.h"

namespace openreg::kernels {

namespace {

const Loops<"upsample", UpsampleArgs, Upsample, int64_t, float, double> kForward;
const Loops<"upsample_backward", UpsampleArgs, UpsampleBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
