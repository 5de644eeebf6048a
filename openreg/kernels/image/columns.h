// An image as a matrix, and back: one column for each position of a window, one row for each element under it.
#pragma once

#include <algorithm>

#include "kernels/image/spans.h"
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

/// Calls `use` for each run of the columns [begin, end) of a row. @param number Of the row, for `use`.
/// @param tap The element of the window that it is of. @param first Where in the image its channel begins.
template <class Use>
void forEachRunOfRow(
    const Window& window, int64_t number, const Place& tap, int64_t first, int64_t begin, int64_t end, Use use) {
  const auto& [image, result, size, stride, padding, dilation] = window;
  const auto isIn = [&](int i, int64_t at) { return at >= 0 && at < image[i]; };
  // The first position at or behind which an offset to the left is made up for.
  const auto positionOf = [&](int64_t distance) { return distance <= 0 ? 0 : (distance + stride[2] - 1) / stride[2]; };
  const int64_t left = padding[2] - tap.w * dilation[2];
  const int64_t lowest = positionOf(left);
  const int64_t highest = positionOf(left + image[2]);
  Place position = Place::of(result, begin);
  for (int64_t at = begin; at < end;) {
    const int64_t w = position.w;
    const int64_t count = std::min(result[2] - w, end - at);
    const int64_t d = position.d * stride[0] - padding[0] + tap.d * dilation[0];
    const int64_t h = position.h * stride[1] - padding[1] + tap.h * dilation[1];
    const bool isInside = isIn(0, d) && isIn(1, h);
    const int64_t low = isInside ? std::clamp(lowest, w, w + count) : w + count;
    const int64_t high = isInside ? std::clamp(highest, low, w + count) : low;
    const int64_t from = first + (d * image[1] + h) * image[2] + low * stride[2] - left;
    use(ColumnRun{number, at - begin, count, low - w, high - low, from});
    at += count;
    position.w = result[2] - 1;
    position.next(result);
  }
}

/// Calls `use` for each run of the columns [begin, end) of some channels' rows.
template <class Use>
void forEachRun(const Window& window, int64_t channels, int64_t begin, int64_t end, Use use) {
  int64_t row = 0;
  for (int64_t channel = 0; channel < channels; ++channel) {
    Place tap{0, 0, 0};
    for (int64_t i = 0; i < product(window.size); ++i, ++row, tap.next(window.size)) {
      forEachRunOfRow(window, row, tap, channel * product(window.image), begin, end, use);
    }
  }
}

// Runs are often shorter than a call of memcpy or memset takes: plain loops.

/// Writes a run into its row. @param row Its first column.
template <class C>
void writeRun(const Window& window, const ColumnRun& run, const C* image, C* row) {
  const int64_t stride = window.stride[2];
  C* to = row + run.column;
  const C* from = image + (run.inside > 0 ? run.from : 0);
  const int64_t last = run.before + run.inside;
  for (int64_t i = 0; i < run.before; ++i) {
    to[i] = C{};
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
    to[i] = C{};
  }
}

/// Writes the columns [begin, end) of an image's matrix. @param leading Elements from one row of the matrix to the
/// next.
template <class C>
void unfold(
    const Window& window, const C* image, int64_t channels, int64_t begin, int64_t end, C* matrix, int64_t leading) {
  forEachRun(window, channels, begin, end, [&](const ColumnRun& run) {
    writeRun(window, run, image, matrix + run.row * leading);
  });
}

/// Writes a row of a plane's matrix. @param tap The element of the window that it is of.
template <class C>
void unfoldRow(const Window& window, int64_t tap, const C* image, C* row) {
  forEachRunOfRow(window, 0, Place::of(window.size, tap), 0, 0, product(window.result), [&](const ColumnRun& run) {
    writeRun(window, run, image, row);
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

/// Writes a plane of the image: of each element, the sum of those that it has become.
/// @param leading Elements from one row of the matrix to the next.
template <class C>
void foldPlane(const Window& window, C* image, const C* matrix, int64_t leading) {
  std::fill_n(image, product(window.image), C(0));
  fold(window, image, 1, 0, product(window.result), matrix, leading);
}

} // namespace openreg::kernels
