// multinomial: indices of categories, by their weights.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"
#include "random/draw_by_sorting.h"
#include "random/generator.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <kernels/launch/pointers.h>
#include <kernels/random/random.h>
#include <torch/library.h>

#include <array>
#include <utility>

namespace openreg {
namespace {

constexpr int64_t kMaxCategories = int64_t{1} << 24; // PyTorch's limit on all devices

void checkMultinomial(const at::Tensor& self, int64_t samples, bool replacement, const at::Tensor& result) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      at::isFloatingType(self.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(result.scalar_type() == at::kLong, "multinomial expects Long tensor out, got: ", result.scalar_type());
  TORCH_CHECK(samples > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(
      replacement || samples <= self.size(-1),
      "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  TORCH_CHECK(self.size(-1) <= kMaxCategories, "number of categories cannot exceed 2^24");
}

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures are PyTorch's.
// LITERALINCLUDE START: MULTINOMIAL
// PyTorch's own multinomial_out serves any device, but asks the device twice whether the weights are good, and waits
// for the answers. Here the kernel looks, and a bad weight is an error that arrives late.
at::Tensor& multinomialOut(
    const at::Tensor& self,
    int64_t samples,
    bool replacement,
    std::optional<at::Generator> generator,
    at::Tensor& result) {
  checkMultinomial(self, samples, replacement, result);
  const auto device = self.device().index();
  auto& source = generatorFor(generator, device);
  const int64_t rows = self.dim() == 1 ? 1 : self.size(0);
  const int64_t categories = self.size(-1);
  if (self.dim() == 1) {
    result.resize_({samples});
  } else {
    result.resize_({rows, samples});
  }
  if (result.numel() == 0) {
    return result;
  }
  if (drawsBySorting(kernel<"multinomial">, device)) {
    return result.copy_(multinomialBySorting(self, samples, replacement, generator));
  }
  // Both go back to the allocator when this returns; whoever gets them next on this stream comes after the kernel.
  const auto workspace = at::empty({rows, categories}, self.options().dtype(at::kDouble));
  const auto order = at::empty({replacement ? 0 : rows, categories}, result.options());

  kernels::MultinomialArgs args{};
  args.weights = self.const_data_ptr();
  args.indices = result.mutable_data_ptr<int64_t>();
  args.workspace = workspace.mutable_data_ptr<double>();
  args.order = order.mutable_data_ptr<int64_t>();
  args.rows = rows;
  args.categories = categories;
  args.samples = samples;
  args.weightStrides[0] = self.dim() == 1 ? 0 : self.stride(0) * self.element_size();
  args.weightStrides[1] = self.stride(-1) * self.element_size();
  args.indexStrides[0] = result.dim() == 1 ? 0 : result.stride(0) * result.element_size();
  args.indexStrides[1] = result.stride(-1) * result.element_size();
  args.dtype = kernelDType(self.scalar_type(), "multinomial");
  args.replacement = replacement ? 1 : 0;
  const auto numbers = static_cast<uint64_t>(replacement ? result.numel() : self.numel());
  args.numbers = source.reserve((numbers + 1) / 2);

  using Args = kernels::MultinomialArgs;
  const std::array weightSizes = {rows, categories};
  const std::array indexSizes = {rows, samples};
  constexpr auto kBoth = static_cast<uint32_t>(orAccessRead | orAccessWrite);
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(Args, weights), orAccessRead, 2, weightSizes.data(), args.weightStrides, self.element_size()),
      kernels::stridedPointer(
          offsetof(Args, indices), orAccessWrite, 2, indexSizes.data(), args.indexStrides, result.element_size()),
      kernels::contiguousPointer(offsetof(Args, workspace), kBoth, workspace.nbytes()),
      kernels::contiguousPointer(offsetof(Args, order), kBoth, order.nbytes()),
      kernels::contiguousPointer(offsetof(Args, numbers.captured), orAccessRead, kernels::capturedBytes(args.numbers)),
  };
  launch(kernel<"multinomial">, device, args, pointers);
  return result;
}
// LITERALINCLUDE END: MULTINOMIAL

at::Tensor
multinomial(const at::Tensor& self, int64_t samples, bool replacement, std::optional<at::Generator> generator) {
  auto result = at::empty({0}, self.options().dtype(at::kLong));
  return multinomialOut(self, samples, replacement, std::move(generator), result);
}

// NOLINTEND(performance-unnecessary-value-param)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"multinomial", multinomial>(m);
  implPlain<"multinomial.out", multinomialOut>(m);
}

} // namespace
} // namespace openreg
