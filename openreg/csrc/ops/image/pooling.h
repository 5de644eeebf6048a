// Launching the pooling kernels.
#pragma once

#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/launch/count.h"

#include <kernels/image/pooling.h>

namespace openreg {

/** @brief How many planes (channels of images) there are. @param plane Elements of one. */
inline int64_t planesOf(const at::Tensor& image, int64_t plane) {
  return plane == 0 ? 0 : image.numel() / plane;
}

/** @brief Queues a forward kernel: `result` and, of maxima, `index` out of `image`. */
template <class Args>
void launchPool(
    const KernelFamily& family, Args args, const at::Tensor& image, const at::Tensor& result, const at::Tensor& index) {
  const ArrayOutput output(result);
  const ArrayOutput where(index);
  launchOverArrays(
      family, image, args,
      {reads("self", &Args::image, image), writes("out", &Args::result, output),
       writes("indices", &Args::index, where)});
  output.finish();
  where.finish();
}

/** @brief Queues a backward kernel: the gradient `image` out of that of the result. */
template <class Args>
void launchPoolBackward(
    const KernelFamily& family, Args args, const at::Tensor& image, const at::Tensor& result, const at::Tensor& index) {
  const ArrayOutput output(image);
  launchOverArrays(
      family, image, args,
      {writes("grad_input", &Args::image, output), reads("grad_output", &Args::result, result),
       reads("indices", &Args::index, index)});
  output.finish();
}

/** @brief Arguments of a kernel over windows. @param dims Dimensions of an image: 2 or 3. */
inline kernels::PoolArgs describePool(
    int64_t dims,
    const at::Tensor& image,
    const at::Tensor& result,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation) {
  kernels::PoolArgs args{};
  args.window = describeWindow(dims, image.sizes(), result.sizes(), size, stride, padding, dilation);
  args.planes = planesOf(image, kernels::product(args.window.image));
  return args;
}

/** @brief The same for a kernel that numbers the elements of a plane: of floats in 32 bits, as wide as they are. */
inline kernels::PoolArgs describeNumberedPool(
    int64_t dims,
    const at::Tensor& image,
    const at::Tensor& result,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation) {
  const auto args = describePool(dims, image, result, size, stride, padding, dilation);
  if (arrayType(image.scalar_type()) == at::kFloat) {
    checkCount("max_pool", "elements of a plane", kernels::product(args.window.image));
  }
  return args;
}

/** @brief Arguments of an adaptive kernel. */
inline kernels::AdaptivePoolArgs describeAdaptivePool(int64_t dims, const at::Tensor& image, const at::Tensor& result) {
  kernels::AdaptivePoolArgs args{};
  const auto skipped = static_cast<size_t>(image.dim() - dims);
  fillExtent(args.imageSize, image.sizes().slice(skipped), dims, 1);
  fillExtent(args.resultSize, result.sizes().slice(skipped), dims, 1);
  args.planes = planesOf(image, kernels::product(args.imageSize));
  return args;
}

} // namespace openreg
