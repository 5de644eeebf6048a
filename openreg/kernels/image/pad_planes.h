// A plane with a border, and the gradient of one, a row at a time.
#pragma once

#include "kernels/image/pad_border.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

/// Calls `use(result, image)` with the numbers of the first elements of each row of a result and of the row that it is
/// a copy of.
template <class Border, class Use>
void forEachPaddedRow(const PadArgs& args, Use use) {
  const PaddedAxis depth(args, 0), height(args, 1);
  int64_t to = 0;
  for (int64_t d = 0; d < depth.result; ++d) {
    for (int64_t h = 0; h < height.result; ++h) {
      const int64_t row = depth.source<Border>(d) * height.size + height.source<Border>(h);
      use(to, row * args.imageSize[2]);
      to += args.resultSize[2];
    }
  }
}

/// Writes a plane of the result.
template <class Border, class C>
void padPlane(const PadArgs& args, const C* image, C* result) {
  const PaddedAxis width(args, 2);
  forEachPaddedRow<Border>(args, [&](int64_t to, int64_t from) {
    const auto copyOne = [&](int64_t i) { result[to + i] = image[from + width.source<Border>(i)]; };
    for (int64_t i = 0; i < width.begin; ++i) {
      copyOne(i);
    }
    std::copy_n(image + from + width.begin - width.before, width.end - width.begin, result + to + width.begin);
    for (int64_t i = width.end; i < width.result; ++i) {
      copyOne(i);
    }
  });
}

/// Writes a plane of the image's gradient.
template <class Border, class C>
void padPlaneBackward(const PadArgs& args, C* image, const C* result) {
  const PaddedAxis width(args, 2);
  std::fill_n(image, product(args.imageSize), C(0));
  forEachPaddedRow<Border>(args, [&](int64_t to, int64_t from) {
    const auto addOne = [&](int64_t i) { image[from + width.source<Border>(i)] += result[to + i]; };
    for (int64_t i = 0; i < width.begin; ++i) {
      addOne(i);
    }
    const int64_t count = width.end - width.begin;
    addToRow(image + from + width.begin - width.before, result + to + width.begin, count);
    for (int64_t i = width.end; i < width.result; ++i) {
      addOne(i);
    }
  });
}

} // namespace openreg::kernels
