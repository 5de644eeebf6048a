// An image as a matrix, and back: im2col and col2im.
#include "ops/image/unfold.h"
#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/image/im2col.h>

#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/im2col_shape_check.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::UnfoldArgs;

void checkPairs(std::initializer_list<std::pair<const char*, at::IntArrayRef>> arguments) {
  for (const auto& [name, values] : arguments) {
    TORCH_CHECK(values.size() == 2, "It is expected ", name, " equals to 2, but got size ", values.size());
  }
}

/// Images of a size, and how a window slides over them.
UnfoldArgs describe(
    int64_t images,
    int64_t planes,
    at::IntArrayRef image,
    at::IntArrayRef size,
    at::IntArrayRef dilation,
    at::IntArrayRef padding,
    at::IntArrayRef stride) {
  UnfoldArgs args{};
  args.images = images;
  args.planes = planes;
  args.window = describeWindow(2, image, image, size, stride, padding, dilation);
  for (int i = 1; i < 3; ++i) {
    auto& window = args.window;
    window.result[i] =
        (window.image[i] + 2 * window.padding[i] - (window.dilation[i] * (window.size[i] - 1) + 1)) / window.stride[i] +
        1;
  }
  args.rowStride = kernels::product(args.window.result);
  args.imageStride = planes * kernels::product(args.window.size) * args.rowStride;
  return args;
}

at::Tensor& im2colOut(
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef dilation,
    at::IntArrayRef padding,
    at::IntArrayRef stride,
    at::Tensor& out) {
  checkPairs({{"kernel_size", size}, {"dilation", dilation}, {"padding", padding}, {"stride", stride}});
  at::native::im2col_shape_check(
      self, at::Tensor(), size[0], size[1], dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
  const auto image = self.dim() == 3 ? self.unsqueeze(0) : self;
  const auto args = describe(image.size(0), image.size(1), image.sizes(), size, dilation, padding, stride);
  c10::SmallVector<int64_t, 3> shape = {
      image.size(0), image.size(1) * kernels::product(args.window.size), kernels::product(args.window.result)};
  resizeOutput(out, at::IntArrayRef(shape).slice(self.dim() == 3 ? 1 : 0), {}, self.options());
  const ContiguousOutput output(out);
  launchUnfold(args, apartFrom(output.tensor(), image.contiguous()), output.tensor());
  output.finish();
  return out;
}

at::Tensor im2col(
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef dilation,
    at::IntArrayRef padding,
    at::IntArrayRef stride) {
  auto out = at::empty({0}, self.options());
  return im2colOut(self, size, dilation, padding, stride, out);
}

at::Tensor& col2imOut(
    const at::Tensor& self,
    at::IntArrayRef imageSize,
    at::IntArrayRef size,
    at::IntArrayRef dilation,
    at::IntArrayRef padding,
    at::IntArrayRef stride,
    at::Tensor& out) {
  checkPairs(
      {{"output_size", imageSize},
       {"kernel_size", size},
       {"dilation", dilation},
       {"padding", padding},
       {"stride", stride}});
  at::native::col2im_shape_check(
      self, at::Tensor(), imageSize[0], imageSize[1], size[0], size[1], dilation[0], dilation[1], padding[0],
      padding[1], stride[0], stride[1]);
  const auto matrix = self.dim() == 2 ? self.unsqueeze(0) : self;
  const auto channels = matrix.size(1) / (size[0] * size[1]);
  c10::SmallVector<int64_t, 4> shape = {matrix.size(0), channels, imageSize[0], imageSize[1]};
  resizeOutput(out, at::IntArrayRef(shape).slice(self.dim() == 2 ? 1 : 0), {}, self.options());
  const ArrayOutput output(out);
  launchOverArrays(
      kernelFamily<"fold">, self, describe(matrix.size(0), channels, imageSize, size, dilation, padding, stride),
      {writes("out", &UnfoldArgs::image, output), reads("self", &UnfoldArgs::matrix, matrix)});
  output.finish();
  return out;
}

at::Tensor col2im(
    const at::Tensor& self,
    at::IntArrayRef imageSize,
    at::IntArrayRef size,
    at::IntArrayRef dilation,
    at::IntArrayRef padding,
    at::IntArrayRef stride) {
  auto out = at::empty({0}, self.options());
  return col2imOut(self, imageSize, size, dilation, padding, stride, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"im2col", im2col>(m);
  implPlain<"im2col.out", im2colOut>(m);
  implPlain<"col2im", col2im>(m);
  implPlain<"col2im.out", col2imOut>(m);
}

} // namespace
} // namespace openreg
