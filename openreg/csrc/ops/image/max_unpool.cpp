// The reverse of max pooling: elements go back to where they came from, in zeros.
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// @param dims Of an image: 2 or 3. In front of them: channels, and the batch if there is one.
at::Tensor unpool(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef outputSize, int64_t dims) {
  TORCH_CHECK(
      indices.scalar_type() == at::kLong, "elements in indices should be type int64 but got: ", indices.scalar_type());
  TORCH_CHECK(
      static_cast<int64_t>(outputSize.size()) == dims, "There should be exactly ", dims,
      " elements in output_size, but got ", outputSize.size());
  TORCH_CHECK(
      self.dim() == dims + 1 || self.dim() == dims + 2, "Input to max_unpooling", dims, "d should be a ", dims + 1,
      "d or ", dims + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  TORCH_CHECK(
      self.sizes() == indices.sizes(), "Expected shape of indices to be: ", self.sizes(),
      " but got: ", indices.sizes());
  const auto leading = self.dim() - dims;
  for (int64_t i = 1; i < self.dim(); ++i) {
    TORCH_CHECK(
        self.size(i) > 0, "max_unpooling", dims, "d(): Expected input to have non-zero size for non-batch dimensions, ",
        "but got ", self.sizes(), " with dimension ", i, " being empty.");
  }
  at::DimVector sizes(self.sizes().slice(0, static_cast<size_t>(leading)));
  sizes.append(outputSize.begin(), outputSize.end());
  auto out = at::zeros(sizes, self.options());
  if (self.numel() > 0) {
    out.flatten(leading).scatter_(leading, indices.flatten(leading), self.flatten(leading));
  }
  return out;
}

at::Tensor unpool2d(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef outputSize) {
  return unpool(self, indices, outputSize, 2);
}

at::Tensor unpool3d(
    const at::Tensor& self,
    const at::Tensor& indices,
    at::IntArrayRef outputSize,
    at::IntArrayRef stride,
    at::IntArrayRef padding) {
  TORCH_CHECK(
      stride.size() == 3 && padding.size() == 3,
      "There should be exactly three elements (depth, height, width) in stride and padding, but got: ", stride, " and ",
      padding);
  TORCH_CHECK(
      std::all_of(stride.begin(), stride.end(), [](int64_t step) { return step > 0; }),
      "strides should be greater than zero, but got stride: ", stride);
  return unpool(self, indices, outputSize, 3);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"max_unpool2d", unpool2d>(m);
  implPlain<"max_unpool2d.out", IntoOutput<unpool2d>::call>(m);
  implPlain<"max_unpool3d", unpool3d>(m);
  implPlain<"max_unpool3d.out", IntoOutput<unpool3d>::call>(m);
}

} // namespace
} // namespace openreg
