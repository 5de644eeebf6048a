// The kernel "assert".
#include "kernels/pointwise/assertion.h"

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"

namespace openreg::kernels {

namespace {

struct Assert {
  void operator()(const AssertArgs& args, orKernelContext& context) const {
    bool holds = false;
    load(args.dtype, static_cast<const char*>(args.value), 0, 1, &holds);
    if (!holds) {
      context.fail(&context, orErrorAssert, args.text);
    }
  }
};

const Register<AssertArgs> kAssert("assert", Assert{});

} // namespace

} // namespace openreg::kernels
