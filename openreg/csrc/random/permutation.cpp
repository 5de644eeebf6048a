// randperm: the first integers in random order.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"
#include "random/draw_by_sorting.h"
#include "random/generator.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <kernels/launch/pointers.h>
#include <kernels/random/random.h>
#include <torch/library.h>

#include <array>

namespace openreg {
namespace {

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures are PyTorch's.
at::Tensor& randpermOut(int64_t n, std::optional<at::Generator> generator, at::Tensor& result) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got ", n);
  at::native::check_supported_max_int_with_precision(n, at::empty({0}, result.options().device(at::kCPU)));
  const auto type = result.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(
      !at::isComplexType(type) && type != at::kBool, "\"randperm\" not implemented for '", type, "'");
  const auto device = result.device().index();
  auto& source = generatorFor(generator, device);
  result.resize_({n});
  if (n == 0) {
    return result;
  }
  if (drawsBySorting(kernel<"permutation">, device)) {
    return result.copy_(permutationBySorting(n, result.device(), generator));
  }
  kernels::PermutationArgs args{};
  args.out = result.mutable_data_ptr();
  args.count = n;
  args.stride = result.stride(0) * result.element_size();
  args.dtype = kernelDType(type, "randperm");
  args.numbers = source.reserve((static_cast<uint64_t>(n) + 1) / 2);
  using Args = kernels::PermutationArgs;
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(Args, out), orAccessRead | orAccessWrite, 1, &args.count, &args.stride, result.element_size()),
      kernels::contiguousPointer(offsetof(Args, numbers.captured), orAccessRead, kernels::capturedBytes(args.numbers)),
  };
  launch(kernel<"permutation">, device, args, pointers);
  return result;
}

// NOLINTEND(performance-unnecessary-value-param)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"randperm.generator_out", randpermOut>(m);
}

} // namespace
} // namespace openreg
