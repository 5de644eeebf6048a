// How a window slides over an image, from PyTorch's lists of numbers.
#pragma once

#include <kernels/image/window.h>

#include <ATen/core/Tensor.h>

namespace openreg {

/** @brief The last `dims` numbers of a list as an extent; a list of one number is repeated as often as needed. */
inline void fillExtent(kernels::Extent& extent, at::IntArrayRef values, int64_t dims, int64_t otherwise) {
  for (int64_t i = 0; i < 3; ++i) {
    const auto fromEnd = 3 - i; // 1 is the width
    const auto count = static_cast<int64_t>(values.size());
    extent[i] = fromEnd > dims ? otherwise : (count == 1 ? values[0] : values[static_cast<size_t>(count - fromEnd)]);
  }
}

/**
 * @brief How a window slides over an image.
 * @param image Image, or images; its last `dims` sizes count. @param result The same of what the positions make.
 * @param stride Empty: the window's size.
 */
inline kernels::Window describeWindow(
    int64_t dims,
    at::IntArrayRef image,
    at::IntArrayRef result,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation) {
  kernels::Window window{};
  fillExtent(window.image, image.slice(image.size() - static_cast<size_t>(dims)), dims, 1);
  fillExtent(window.result, result.slice(result.size() - static_cast<size_t>(dims)), dims, 1);
  fillExtent(window.size, size, dims, 1);
  fillExtent(window.stride, stride.empty() ? size : stride, dims, 1);
  fillExtent(window.padding, padding, dims, 0);
  fillExtent(window.dilation, dilation, dims, 1);
  return window;
}

} // namespace openreg
