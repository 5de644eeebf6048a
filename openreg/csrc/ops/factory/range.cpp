// arange, linspace, logspace and range: evenly spaced numbers.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel_family.h"
#include "ops/launch/scalar.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/plain.h"

#include <kernels/factory/range.h>
#include <kernels/launch/pointers.h>

#include <ATen/TensorIterator.h>
#include <ATen/native/RangeFactories.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace_native.h>
#include <torch/library.h>

#include <cmath>

namespace openreg {
namespace {

using kernels::RangeArgs;

/// @param out Contiguous. @param type What is computed in.
void launchRange(const KernelFamily& family, RangeArgs args, const at::TensorBase& out, at::ScalarType type) {
  const auto device = out.device().index();
  const auto& kernel = family.get(type, device);
  args.out = out.mutable_data_ptr();
  args.count = out.numel();
  args.dtype = kernelDType(out.scalar_type(), family.name());
  const std::array pointers = {kernels::contiguousPointer(offsetof(RangeArgs, out), orAccessWrite, out.nbytes())};
  if (args.count > 0) {
    launch(kernel, device, args, pointers);
  }
}

void launchArange(const at::TensorBase& out, const at::Scalar& start, const at::Scalar& step) {
  // What adds up over many steps is computed in the widest type of its kind.
  const auto type = at::isIntegralType(out.scalar_type(), true) ? at::kLong : at::kDouble;
  RangeArgs args{};
  putScalar(args.start, start, kernelDType(type, kernelFamily<"arange">.name()));
  putScalar(args.step, step, kernelDType(type, kernelFamily<"arange">.name()));
  launchRange(kernelFamily<"arange">, args, out, type);
}

void arangeKernel(
    at::TensorIterator& iter, const at::Scalar& start, const at::Scalar& /*size*/, const at::Scalar& step) {
  launchArange(iter.tensor(0), start, step);
}

RangeArgs describe(
    const KernelFamily& family,
    const at::TensorBase& out,
    const at::Scalar& start,
    const at::Scalar& end,
    double base) {
  RangeArgs args{};
  const auto dtype = kernelDType(out.scalar_type(), family.name());
  putScalar(args.start, start, dtype);
  putScalar(args.end, end, dtype);
  args.base = base;
  return args;
}

void linspaceKernel(at::TensorIterator& iter, const at::Scalar& start, const at::Scalar& end, int64_t /*steps*/) {
  const auto& out = iter.tensor(0);
  launchRange(kernelFamily<"linspace">, describe(kernelFamily<"linspace">, out, start, end, 0), out, out.scalar_type());
}

at::Tensor& logspaceOut(const at::Scalar& start, const at::Scalar& end, int64_t steps, double base, at::Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  if (out.numel() != steps) {
    at::native::resize_output(out, {steps});
  }
  const ContiguousOutput output(out);
  const auto& made = output.tensor();
  launchRange(
      kernelFamily<"logspace">, describe(kernelFamily<"logspace">, made, start, end, base), made, made.scalar_type());
  output.finish();
  return out;
}

at::Tensor& rangeOut(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::Tensor& out) {
  const double first = start.to<double>();
  const double last = end.to<double>();
  const double distance = step.to<double>();
  TORCH_CHECK(distance != 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ", last);
  TORCH_CHECK(distance > 0 ? last >= first : last <= first, "upper bound and lower bound inconsistent with step sign");
  const auto count = static_cast<int64_t>((last - first) / distance) + 1; // the end belongs to it
  if (out.numel() != count) {
    out.resize_({count});
  }
  const ContiguousOutput output(out);
  const auto& made = output.tensor();
  launchArange(made, start, step);
  output.finish();
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using Numbers = at::Tensor& (*)(const at::Scalar&, const at::Scalar&, const at::Scalar&, at::Tensor&);
  using Spaced = at::Tensor& (*)(const at::Scalar&, const at::Scalar&, int64_t, at::Tensor&);
  implPlain<"arange.start_out", static_cast<Numbers>(at::native::arange_out)>(m);
  implPlain<"linspace.out", static_cast<Spaced>(at::native::linspace_out)>(m);
  implPlain<"logspace.out", logspaceOut>(m);
  implPlain<"range.out", rangeOut>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(arange_stub, &openreg::arangeKernel)
REGISTER_PRIVATEUSE1_DISPATCH(linspace_stub, &openreg::linspaceKernel)
} // namespace at::native
