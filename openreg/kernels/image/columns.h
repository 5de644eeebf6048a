// An image as a matrix, and back: one column for each position of a window, one row for each element under it.
#pragma once

#include <algorithm>

#include "kernels/image/window.h"
#include "kernels/loop/ivdep.h"

namespace openreg::kernels {

/// A run of positions along the width: elements of one row of the matrix, one behind the other.
struct ColumnRun {
  int64_t row;    ///< Of the matrix.
  int64_t column; ///< Of the first element, counted from the first column asked for.
  int64_t count;  ///< Elements.
  int64_t before; ///< Of them, how many lie left of the image.
  int64_t inside; ///< Then, how many lie in it. The rest lies right of it.
  int64_t from;   ///< Where in the image the first of these is; meaningless if there is none.
};

/// Calls `use` for each run of the columns [begin, end) of some channels' rows.
template <class Use>
void forEachRun(const Window& window, int64_t channels, int64_t begin, int64_t end, Use use) {
  const auto& [image, result, size, stride, padding, dilation] = window;
  const int64_t plane = product(image);
  const auto isIn = [&](int i, int64_t at) { return at >= 0 && at < image[i]; };
  // The first position at or behind which an offset to the left is made up for.
  const auto positionOf = [&](int64_t distance) { return distance <= 0 ? 0 : (distance + stride[2] - 1) / stride[2]; };
  int64_t row = 0;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t kd = 0; kd < size[0]; ++kd) {
      for (int64_t kh = 0; kh < size[1]; ++kh) {
        for (int64_t kw = 0; kw < size[2]; ++kw, ++row) {
          const int64_t left = padding[2] - kw * dilation[2];
          const int64_t first = positionOf(left);
          const int64_t last = positionOf(left + image[2]);
          int64_t w = begin % result[2];
          int64_t h = begin / result[2] % result[1];
          int64_t d = begin / result[2] / result[1];
          for (int64_t at = begin; at < end;) {
            const int64_t count = std::min(result[2] - w, end - at);
            const int64_t imageD = d * stride[0] - padding[0] + kd * dilation[0];
            const int64_t imageH = h * stride[1] - padding[1] + kh * dilation[1];
            const bool isInside = isIn(0, imageD) && isIn(1, imageH);
            const int64_t low = isInside ? std::clamp(first, w, w + count) : w + count;
            const int64_t high = isInside ? std::clamp(last, low, w + count) : low;
            const int64_t from = channel * plane + (imageD * image[1] + imageH) * image[2] + low * stride[2] - left;
            use(ColumnRun{row, at - begin, count, low - w, high - low, from});
            at += count;
            w = 0;
            if (++h == result[1]) {
              h = 0;
              ++d;
            }
          }
        }
      }
    }
  }
}

// Runs are often shorter than a call of memcpy or memset takes: plain loops.

/// Writes the columns [begin, end) of an image's matrix. @param leading Elements from one row of the matrix to the
/// next.
template <class C>
void unfold(
    const Window& window, const C* image, int64_t channels, int64_t begin, int64_t end, C* matrix, int64_t leading) {
  const int64_t stride = window.stride[2];
  forEachRun(window, channels, begin, end, [&](const ColumnRun& run) {
    C* to = matrix + run.row * leading + run.column;
    const C* from = image + (run.inside > 0 ? run.from : 0);
    const int64_t last = run.before + run.inside;
    for (int64_t i = 0; i < run.before; ++i) {
      to[i] = C(0);
    }
    if (stride == 1) {
      OPENREG_IVDEP // An image and its matrix are apart.
      for (int64_t i = 0; i < run.inside; ++i) {
        to[run.before + i] = from[i];
      }
    } else {
      for (int64_t i = 0; i < run.inside; ++i) {
        to[run.before + i] = from[i * stride];
      }
    }
    for (int64_t i = last; i < run.count; ++i) {
      to[i] = C(0);
    }
  });
}

/// Adds the columns [begin, end) of a matrix to the elements of the image that they came from.
template <class C>
void fold(
    const Window& window, C* image, int64_t channels, int64_t begin, int64_t end, const C* matrix, int64_t leading) {
  forEachRun(window, channels, begin, end, [&](const ColumnRun& run) {
    if (run.inside == 0) {
      return;
    }
    const C* from = matrix + run.row * leading + run.column + run.before;
    C* to = image + run.from;
    if (window.stride[2] == 1) {
      OPENREG_IVDEP
      for (int64_t i = 0; i < run.inside; ++i) {
        to[i] += from[i];
      }
    } else {
      for (int64_t i = 0; i < run.inside; ++i) {
        to[i * window.stride[2]] += from[i];
      }
    }
  });
}

} // namespace openreg::kernels
