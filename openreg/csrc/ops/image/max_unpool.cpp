// The reverse of max pooling: elements go back to where they came from, in zeros.
#include "ops/structured/contiguous_output.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// @param dims Of an image: 2 or 3. In front of them: channels, and the batch if there is one.
void unpool(
    const at::Tensor& self,
    const at::Tensor& indices,
    at::IntArrayRef outputSize,
    int64_t dims,
    const at::Tensor& out) {
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
  const auto values = apartFrom(out, self), places = apartFrom(out, indices);
  resizeOutput(out, sizes, {}, self.options());
  const ContiguousOutput output(out);
  output.tensor().zero_();
  if (self.numel() > 0) {
    output.tensor().flatten(leading).scatter_(leading, places.flatten(leading), values.flatten(leading));
  }
  output.finish();
}

at::Tensor&
unpool2dOut(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef outputSize, at::Tensor& out) {
  unpool(self, indices, outputSize, 2, out);
  return out;
}

at::Tensor unpool2d(const at::Tensor& self, const at::Tensor& indices, at::IntArrayRef outputSize) {
  auto out = at::empty({0}, self.options());
  return unpool2dOut(self, indices, outputSize, out);
}

at::Tensor& unpool3dOut(
    const at::Tensor& self,
    const at::Tensor& indices,
    at::IntArrayRef outputSize,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::Tensor& out) {
  TORCH_CHECK(
      stride.size() == 3 && padding.size() == 3,
      "There should be exactly three elements (depth, height, width) in stride and padding, but got: ", stride, " and ",
      padding);
  TORCH_CHECK(
      std::all_of(stride.begin(), stride.end(), [](int64_t step) { return step > 0; }),
      "strides should be greater than zero, but got stride: ", stride);
  unpool(self, indices, outputSize, 3, out);
  return out;
}

at::Tensor unpool3d(
    const at::Tensor& self,
    const at::Tensor& indices,
    at::IntArrayRef outputSize,
    at::IntArrayRef stride,
    at::IntArrayRef padding) {
  auto out = at::empty({0}, self.options());
  return unpool3dOut(self, indices, outputSize, stride, padding, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"max_unpool2d", unpool2d>(m);
  implPlain<"max_unpool2d.out", unpool2dOut>(m);
  implPlain<"max_unpool3d", unpool3d>(m);
  implPlain<"max_unpool3d.out", unpool3dOut>(m);
}

} // namespace
} // namespace openreg
