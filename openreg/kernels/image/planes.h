// Kernels that work on each plane of an image by itself: pooling and its like.
#pragma once

#include <algorithm>

#include "kernels/image/window.h"
#include "kernels/loop/element.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Calls `use(plane)` for each plane, several at a time. @param work About how many elements are touched in a plane.
template <class Use>
void forEachPlane(orKernelContext& context, int64_t planes, int64_t work, Use use) {
  context.parallelFor(
      &context, planes, grainOfRows(work),
      [](void* state, int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
          (*static_cast<Use*>(state))(plane);
        }
      },
      &use);
}

/// Some elements along one dimension of an image.
struct Span {
  int64_t begin;
  int64_t end;
  int64_t step = 1;

  int64_t count() const { return end > begin ? (end - begin + step - 1) / step : 0; }
};

/// Calls `use(i, d, h, w)` for each position p of a result, with its number; the spans are what `spanOf(dimension, p)`
/// says.
template <class SpanOf, class Use>
void forEachPosition(const Extent& result, SpanOf spanOf, Use use) {
  int64_t i = 0;
  for (int64_t d = 0; d < result[0]; ++d) {
    const Span depth = spanOf(0, d);
    for (int64_t h = 0; h < result[1]; ++h) {
      const Span height = spanOf(1, h);
      for (int64_t w = 0; w < result[2]; ++w, ++i) {
        use(i, depth, height, spanOf(2, w));
      }
    }
  }
}

/// Calls `use(at)` for the elements of an image in three spans, with their numbers.
template <class Use>
void forEachElement(const Extent& image, const Span& depth, const Span& height, const Span& width, Use use) {
  for (int64_t d = depth.begin; d < depth.end; d += depth.step) {
    for (int64_t h = height.begin; h < height.end; h += height.step) {
      const int64_t row = (d * image[1] + h) * image[2];
      for (int64_t w = width.begin; w < width.end; w += width.step) {
        use(row + w);
      }
    }
  }
}

/// What of the image a window covers at a position.
inline Span windowSpan(const Window& window, int dimension, int64_t position) {
  const int64_t step = window.dilation[dimension];
  const int64_t begin = position * window.stride[dimension] - window.padding[dimension];
  const int64_t end = begin + (window.size[dimension] - 1) * step + 1;
  const int64_t skipped = begin < 0 ? (-begin + step - 1) / step * step : 0;
  return {begin + skipped, std::min(end, window.image[dimension]), step};
}

/// What of the image adaptive pooling makes an element of: parts that are as equal as they can be, and may overlap.
inline Span adaptiveSpan(int64_t image, int64_t result, int64_t position) {
  return {position * image / result, ((position + 1) * image + result - 1) / result};
}

} // namespace openreg::kernels
