// A plane with a border, and the gradient of one, on a GPU: all threads of a block do a plane together, an element
// each.
#pragma once

#include "kernels/image/pad_border.h"
#include "kernels/image/spans.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// Writes a plane of the result.
template <class Border, class C>
void padPlane(const PadArgs& args, const C* image, C* result) {
  const PaddedAxis depth(args, 0), height(args, 1), width(args, 2);
  forEachOfRow(product(args.resultSize), [&](int64_t i) {
    const Place at = Place::of(args.resultSize, i);
    const int64_t row = depth.source<Border>(at.d) * height.size + height.source<Border>(at.h);
    result[i] = image[row * width.size + width.source<Border>(at.w)];
  });
}

/// Writes a plane of the image's gradient: of each element, the sum of its copies'.
template <class Border, class C>
void padPlaneBackward(const PadArgs& args, C* image, const C* result) {
  const PaddedAxis depth(args, 0), height(args, 1), width(args, 2);
  forEachOfRow(product(args.imageSize), [&](int64_t i) {
    const Place element = Place::of(args.imageSize, i);
    C sum(0);
    depth.forEachCopy<Border>(element.d, [&](int64_t d) {
      height.forEachCopy<Border>(element.h, [&](int64_t h) {
        width.forEachCopy<Border>(
            element.w, [&](int64_t w) { sum += result[(d * height.result + h) * width.result + w]; });
      });
    });
    image[i] = sum;
  });
}

} // namespace openreg::kernels
