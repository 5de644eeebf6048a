// The kernel "assert".
#include "kernels/pointwise/assertion.h"

#include "kernels/loop/block.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

class Assert : public LoopOver<AssertArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return 1; }
  void operator()(int64_t /*begin*/, int64_t /*end*/, orKernelContext& context) const {
    bool holds = false;
    load(args_.dtype, static_cast<const char*>(args_.value), 0, 1, &holds);
    if (!holds) {
      context.fail(&context, orErrorAssert, args_.text);
    }
  }
};

const Loop<"assert", AssertArgs, Assert> kAssert;

} // namespace

} // namespace openreg::kernels
