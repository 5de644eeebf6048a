// The kernel "permutation": the first integers in random order.
#include <utility>

#include "kernels/loop/convert.h"
#include "kernels/random/sequence.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: PERMUTATION
/// Fisher and Yates: every order is as likely as any other. Each exchange needs the ones before it, so one thread does
/// it all; a device of many slow threads sorts random keys instead.
struct Permutation {
  void operator()(const PermutationArgs& args, orKernelContext& context) const {
    auto* out = static_cast<char*>(args.out);
    const bool known = withStorageType(args.dtype, [&]<class T>(T) {
      const auto at = [&](int64_t i) -> T& { return *reinterpret_cast<T*>(out + i * args.stride); };
      for (int64_t i = 0; i < args.count; ++i) {
        at(i) = convert<T>(i);
      }
      Sequence numbers(args.numbers, 0);
      for (int64_t i = 0; i < args.count; ++i) {
        const auto left = static_cast<uint64_t>(args.count - i);
        std::swap(at(i), at(i + static_cast<int64_t>(below(left, numbers.next()))));
      }
    });
    if (!known) {
      context.fail(&context, orErrorInvalidValue, "dtype is not a DType");
    }
  }
};
// LITERALINCLUDE END: PERMUTATION

const Register<"permutation", PermutationArgs, Permutation> registration;

} // namespace

} // namespace openreg::kernels
