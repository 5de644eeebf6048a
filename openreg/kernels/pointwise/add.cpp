// The kernel "add": out = a + alpha * b over contiguous arrays.
#include "kernels/pointwise/add.h"

#include <type_traits>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/loop/ivdep.h"

namespace openreg::kernels {

namespace {

/// Integers wrap around, as everywhere in PyTorch; in C++ only unsigned ones may.
template <class T>
T addScaled(T a, T b, T alpha) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(alpha) * static_cast<U>(b));
  } else {
    return a + alpha * b;
  }
}

template <class T>
void addRun(void* state, int64_t begin, int64_t end) {
  const auto& args = *static_cast<const AddArgs*>(state);
  auto* out = static_cast<T*>(args.out);
  const auto* a = static_cast<const T*>(args.a);
  const auto* b = static_cast<const T*>(args.b);
  const T alpha = std::is_integral_v<T> ? static_cast<T>(args.alphaInt) : static_cast<T>(args.alpha);
  OPENREG_IVDEP // `out` may be `a` or `b`, but element by element that is no dependency.
  for (int64_t i = begin; i < end; ++i) {
    out[i] = addScaled<T>(a[i], b[i], alpha);
  }
}

struct AddKernel {
  void operator()(const AddArgs& args, orKernelContext& context) const {
    AddArgs loop = args;
    const auto run = [&](orLoopBody body) { context.parallelFor(&context, args.count, kGrain, body, &loop); };
    switch (args.type) {
      case ElementType::Float32:
        return run(&addRun<float>);
      case ElementType::Float64:
        return run(&addRun<double>);
      case ElementType::Int64:
        return run(&addRun<int64_t>);
    }
    context.fail(&context, orErrorInvalidValue, "type is not an ElementType");
  }
};

const Register<AddArgs> registration("add", AddKernel{});

} // namespace

} // namespace openreg::kernels
