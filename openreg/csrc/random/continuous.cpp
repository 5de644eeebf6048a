// Operators that fill a tensor with real numbers: uniform_, normal_, log_normal_, exponential_, cauchy_.
#include "ops/structured/plain.h"
#include "random/draw.h"

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/cauchy_native.h>
#include <ATen/ops/exponential_native.h>
#include <ATen/ops/log_normal_native.h>
#include <ATen/ops/normal_native.h>
#include <ATen/ops/uniform_native.h>
#include <kernels/random/random.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace openreg {
namespace {

using OptionalGenerator = std::optional<at::Generator>;

// LITERALINCLUDE START: DRAW REAL
/// Fills a tensor: as many random bits as the type that the kernel computes in.
template <class Parameters>
void drawReal(
    const KernelFamily& family, const at::TensorBase& out, const OptionalGenerator& generator, Parameters parameters) {
  const auto type = out.scalar_type();
  const auto iter = inLogicalOrder({out});
  draw(family, type, type == at::kDouble ? 64 : 32, iter, generator, parameters);
}
// LITERALINCLUDE END: DRAW REAL

/// The largest number below `to` that a type T has, or `from` if that is larger.
template <class T>
double largestBelow(double to, double from) {
  int exponent = 0;
  const double fraction = std::frexp(to, &exponent);
  const int ulp = exponent - std::numeric_limits<T>::digits - (fraction == 0.5 ? 1 : 0);
  const double step = std::max(std::ldexp(1.0, ulp), static_cast<double>(std::numeric_limits<T>::min()));
  return std::max(to - step, from);
}

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures are PyTorch's.
void uniformKernel(at::TensorIteratorBase& iter, double from, double to, OptionalGenerator generator) {
  kernels::UniformParameters parameters{};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(0), "uniform", [&] {
    parameters.from = static_cast<double>(static_cast<scalar_t>(from));
    parameters.to = static_cast<double>(static_cast<scalar_t>(to));
    parameters.last = largestBelow<scalar_t>(parameters.to, parameters.from);
    parameters.digits = std::numeric_limits<scalar_t>::digits;
  });
  drawReal(kernelFamily<"uniform">, iter.tensor_base(0), generator, parameters);
}

// LITERALINCLUDE START: NORMAL STUB
void normalKernel(const at::TensorBase& self, double mean, double std, OptionalGenerator generator) {
  drawReal(kernelFamily<"normal">, self, generator, kernels::NormalParameters{{}, mean, std});
}
// LITERALINCLUDE END: NORMAL STUB

void logNormalKernel(at::TensorIteratorBase& iter, double mean, double std, OptionalGenerator generator) {
  drawReal(kernelFamily<"log_normal">, iter.tensor_base(0), generator, kernels::NormalParameters{{}, mean, std});
}

void exponentialKernel(at::TensorIteratorBase& iter, double lambda, OptionalGenerator generator) {
  TORCH_CHECK(
      at::isFloatingType(iter.dtype(0)),
      "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
      "specified ",
      iter.dtype(0));
  drawReal(kernelFamily<"exponential">, iter.tensor_base(0), generator, kernels::ExponentialParameters{{}, lambda});
}

void cauchyKernel(at::TensorIteratorBase& iter, double median, double sigma, OptionalGenerator generator) {
  drawReal(kernelFamily<"cauchy">, iter.tensor_base(0), generator, kernels::CauchyParameters{{}, median, sigma});
}

// NOLINTEND(performance-unnecessary-value-param)

// LITERALINCLUDE START: REGISTER CONTINUOUS
// PyTorch's functions check the arguments, for all devices alike; the stubs below do the drawing.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "uniform_", at::native::uniform_);
  implNative(m, "normal_", at::native::normal_);
  implNative(m, "log_normal_", at::native::log_normal_);
  implNative(m, "exponential_", at::native::exponential_);
  implNative(m, "cauchy_", at::native::cauchy_);
}
// LITERALINCLUDE END: REGISTER CONTINUOUS

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using Optional = OptionalGenerator;
  using at::Tensor;
  using at::native::normal;
  using at::native::normal_out;
  implPlain<"normal.Tensor_float", static_cast<Tensor (*)(const Tensor&, double, Optional)>(normal)>(m);
  implPlain<"normal.float_Tensor", static_cast<Tensor (*)(double, const Tensor&, Optional)>(normal)>(m);
  implPlain<"normal.Tensor_Tensor", static_cast<Tensor (*)(const Tensor&, const Tensor&, Optional)>(normal)>(m);
  implPlain<"normal.Tensor_float_out", static_cast<Tensor& (*)(const Tensor&, double, Optional, Tensor&)>(normal_out)>(
      m);
  implPlain<"normal.float_Tensor_out", static_cast<Tensor& (*)(double, const Tensor&, Optional, Tensor&)>(normal_out)>(
      m);
  implPlain<
      "normal.Tensor_Tensor_out",
      static_cast<Tensor& (*)(const Tensor&, const Tensor&, Optional, Tensor&)>(normal_out)>(m);
}

} // namespace
} // namespace openreg

// LITERALINCLUDE START: REGISTER STUBS
namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(uniform_stub, &openreg::uniformKernel)
REGISTER_PRIVATEUSE1_DISPATCH(normal_stub, &openreg::normalKernel)
REGISTER_PRIVATEUSE1_DISPATCH(log_normal_stub, &openreg::logNormalKernel)
REGISTER_PRIVATEUSE1_DISPATCH(exponential_stub, &openreg::exponentialKernel)
REGISTER_PRIVATEUSE1_DISPATCH(cauchy_stub, &openreg::cauchyKernel)
} // namespace at::native
// LITERALINCLUDE END: REGISTER STUBS
