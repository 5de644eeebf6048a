// The kernel "amp_update_scale".
#include <cmath>

#include "kernels/loop/loops.h"
#include "kernels/training/gradient_scaler.h"

namespace openreg::kernels {

namespace {

class UpdateScale : public LoopOver<UpdateScaleArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return 1; }
  void operator()(int64_t /*begin*/, int64_t /*end*/) const {
    if (*args_.found != 0.0F) {
      *args_.scale = static_cast<float>(*args_.scale * args_.backoff);
      *args_.steps = 0;
    } else if (++*args_.steps == args_.interval) {
      const auto grown = static_cast<float>(*args_.scale * args_.growth);
      *args_.scale = std::isfinite(grown) ? grown : *args_.scale;
      *args_.steps = 0;
    }
  }
};

const Loop<"amp_update_scale.float", UpdateScaleArgs, UpdateScale> kUpdateScale;

} // namespace

} // namespace openreg::kernels
