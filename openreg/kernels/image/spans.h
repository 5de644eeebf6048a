// What parts of an image windows cover: those that slide, and those of adaptive pooling.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/image/window.h"

namespace openreg::kernels {

/// Some numbers along one dimension: of elements of an image, or of positions of a window.
struct Span {
  int64_t begin;
  int64_t end;
  int64_t step = 1;

  int64_t count() const { return end > begin ? (end - begin + step - 1) / step : 0; }
};

/// What a window covers that slides over an image.
class WindowSpans {
 public:
  explicit WindowSpans(const Window& window) : window_(window) {}

  const Extent& image() const { return window_.image; }
  const Extent& result() const { return window_.result; }

  /// What of the image it covers at a position.
  Span of(int dimension, int64_t position) const {
    const int64_t step = window_.dilation[dimension];
    const int64_t begin = position * window_.stride[dimension] - window_.padding[dimension];
    const int64_t end = begin + (window_.size[dimension] - 1) * step + 1;
    const int64_t skipped = begin < 0 ? (-begin + step - 1) / step * step : 0;
    return {begin + skipped, std::min(end, window_.image[dimension]), step};
  }

  /// The positions from whose first to whose last element an element of the image lies.
  Span over(int dimension, int64_t element) const {
    const int64_t last = element + window_.padding[dimension];
    const int64_t first = last - (window_.size[dimension] - 1) * window_.dilation[dimension];
    const int64_t stride = window_.stride[dimension];
    return {first > 0 ? (first + stride - 1) / stride : 0, std::min(last / stride + 1, window_.result[dimension])};
  }

 private:
  const Window& window_;
};

/// What adaptive pooling makes an element of: parts that are as equal as they can be, and may overlap.
class AdaptiveSpans {
 public:
  AdaptiveSpans(const Extent& image, const Extent& result) : image_(image), result_(result) {}

  const Extent& image() const { return image_; }
  const Extent& result() const { return result_; }
  Span of(int dimension, int64_t position) const { return part(image_[dimension], result_[dimension], position); }
  Span over(int dimension, int64_t element) const { return part(result_[dimension], image_[dimension], element); }

 private:
  static Span part(int64_t whole, int64_t parts, int64_t number) {
    return {number * whole / parts, ((number + 1) * whole + parts - 1) / parts};
  }

  const Extent& image_;
  const Extent& result_;
};

/// An element's place in an image.
struct Place {
  int64_t d;
  int64_t h;
  int64_t w;

  /// That of an element by its number.
  static Place of(const Extent& size, int64_t number) {
    return {number / size[2] / size[1], number / size[2] % size[1], number % size[2]};
  }

  /// That of the next one.
  void next(const Extent& size) {
    if (++w == size[2]) {
      w = 0;
      if (++h == size[1]) {
        h = 0;
        ++d;
      }
    }
  }
};

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

} // namespace openreg::kernels
