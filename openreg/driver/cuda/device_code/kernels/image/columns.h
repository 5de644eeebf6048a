// An image as a matrix, and back, on a GPU: all threads of a block do a row of the matrix together, or a plane of the
// image.
#pragma once

#include "kernels/image/image_gradient.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// Writes a row of a plane's matrix. @param tap The element of the window that it is of.
template <class C>
void unfoldRow(const Window& window, int64_t tap, const C* image, C* row) {
  const Extent& size = window.image;
  const Place in = Place::of(window.size, tap);
  const int64_t d = in.d * window.dilation[0] - window.padding[0];
  const int64_t h = in.h * window.dilation[1] - window.padding[1];
  const int64_t w = in.w * window.dilation[2] - window.padding[2];
  forEachOfRow(product(window.result), [&](int64_t i) {
    Place at = Place::of(window.result, i);
    at = {at.d * window.stride[0] + d, at.h * window.stride[1] + h, at.w * window.stride[2] + w};
    const bool isInside = at.d >= 0 && at.d < size[0] && at.h >= 0 && at.h < size[1] && at.w >= 0 && at.w < size[2];
    row[i] = isInside ? image[(at.d * size[1] + at.h) * size[2] + at.w] : C{};
  });
}

/// Writes a plane of the image: of each element, the sum of those that it has become.
/// @param leading Elements from one row of the matrix to the next.
template <class C>
void foldPlane(const Window& window, C* image, const C* matrix, int64_t leading) {
  // Which element of the window lies at a distance from its first one; −1 if none does.
  const auto tapOf = [&](int dimension, int64_t element, int64_t position) {
    const int64_t distance = element + window.padding[dimension] - position * window.stride[dimension];
    const int64_t dilation = window.dilation[dimension];
    return distance % dilation == 0 ? distance / dilation : -1;
  };
  forEachOfRow(product(window.image), [&](int64_t i) {
    const Place element = Place::of(window.image, i);
    C sum(0);
    forEachPositionOver(WindowSpans(window), element, [&](int64_t at, const Place& position) {
      const int64_t d = tapOf(0, element.d, position.d);
      const int64_t h = tapOf(1, element.h, position.h);
      const int64_t w = tapOf(2, element.w, position.w);
      if (d >= 0 && h >= 0 && w >= 0) {
        sum += matrix[((d * window.size[1] + h) * window.size[2] + w) * leading + at];
      }
    });
    image[i] = sum;
  });
}

} // namespace openreg::kernels
