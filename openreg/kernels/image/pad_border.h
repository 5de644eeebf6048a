// Where the elements of a border come from.
#pragma once

#include "kernels/image/pad.h"

#include <algorithm>

namespace openreg::kernels {

/// As in a mirror at the first and last element, which are not repeated.
struct Reflection {
  static int64_t source(int64_t at, int64_t size) {
    if (at < 0) {
      at = -at;
    }
    return at >= size ? 2 * (size - 1) - at : at;
  }
};

/// The nearest element.
struct Replication {
  static int64_t source(int64_t at, int64_t size) { return std::clamp(at, int64_t{0}, size - 1); }
};

/// A result along one dimension: a border, a part of the image, and another border. Each may be empty.
struct PaddedAxis {
  int64_t before; ///< As in PadArgs.
  int64_t size;   ///< Of the image.
  int64_t result;
  int64_t begin; ///< Where the image's part is in the result.
  int64_t end;

  PaddedAxis(const PadArgs& args, int dimension)
      : before(args.before[dimension]), size(args.imageSize[dimension]), result(args.resultSize[dimension]),
        begin(std::clamp(before, int64_t{0}, result)), end(std::clamp(before + size, begin, result)) {}

  /// The element of the image that one of the result is a copy of.
  template <class Border>
  int64_t source(int64_t at) const {
    return Border::source(at - before, size);
  }

  /// Calls `use(at)` for each element of the result that is a copy of one of the image's, the first one first.
  template <class Border, class Use>
  void forEachCopy(int64_t element, Use use) const {
    const auto search = [&](int64_t first, int64_t last) {
      for (int64_t at = first; at < last; ++at) {
        if (source<Border>(at) == element) {
          use(at);
        }
      }
    };
    search(0, begin);
    if (element + before >= begin && element + before < end) {
      use(element + before);
    }
    search(end, result);
  }
};

} // namespace openreg::kernels
