// What the kernels of a convolution have in common: their arrays, and how they cut them into pieces.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/image/columns.h"
#include "kernels/image/convolution.h"
#include "kernels/linalg/small_gemm.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Elements of an unfolded image that are worked on at a time: as many as stay in a core's cache,
constexpr int64_t kPanel = 64 * 1024;
/// and in how many columns at least: products of fewer are slow.
constexpr int64_t kColumns = 128;
/// Pieces that work is cut into where sizes leave it open. Not the number of threads: results must not depend on it.
constexpr int64_t kPieces = 8;

constexpr int64_t ceilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The arrays of a launch.
template <class C>
struct ConvolutionArrays {
  const ConvolutionArgs& args;
  const Blas* blas = nullptr;
  int64_t taps = product(args.window.size);        ///< Elements of a window.
  int64_t rows = args.channels * taps;             ///< Of the unfolded image: elements of a filter.
  int64_t positions = product(args.window.result); ///< Of the window: columns of the unfolded image.
  int64_t plane = product(args.window.image);      ///< Elements of a channel of the image.

  /// False after it has reported why there is nothing to compute with.
  bool prepare(orKernelContext& context) {
    if (std::max({rows, positions, plane, args.filters}) > std::numeric_limits<int>::max()) {
      context.fail(&context, orErrorInvalidValue, "an image or filter has more elements than BLAS can count");
      return false;
    }
    if constexpr (!std::is_same_v<C, int64_t>) {
      const char* why = nullptr;
      blas = kernels::blas(why);
      if (blas == nullptr) {
        context.fail(&context, orErrorNotFound, why);
        return false;
      }
    }
    return true;
  }

  C* image(int64_t n, int64_t group, int64_t channel) const {
    return static_cast<C*>(args.image) + ((n * args.groups + group) * args.channels + channel) * plane;
  }
  C* result(int64_t n, int64_t group) const {
    return static_cast<C*>(args.result) + (n * args.groups + group) * args.filters * positions;
  }
  C* weight(int64_t group, int64_t channel) const {
    return static_cast<C*>(args.weight) + group * args.filters * rows + channel * taps;
  }
  const C* bias(int64_t channel) const { return static_cast<const C*>(args.bias) + channel; }

  /// Whether the image is its own unfolded matrix.
  bool isPointwise() const { return kernels::isPointwise(args.window); }
  /// Columns of the unfolded image that are made at a time, for `count` channels: parts of about equal size.
  int64_t tile(int64_t count) const {
    if (isPointwise()) {
      return positions;
    }
    const int64_t most = std::clamp(kPanel / (count * taps), std::min(kColumns, positions), positions);
    return ceilDiv(positions, ceilDiv(positions, most));
  }
  /// Channels that are one piece of work, if there should be about `wanted` pieces of them.
  int64_t block(int64_t wanted) const {
    const int64_t most = isPointwise() ? args.channels : std::max(kPanel / (taps * kColumns), int64_t{1});
    return std::min(ceilDiv(args.channels, wanted), most);
  }
  /// Channels that are unfolded at a time, for `columns` columns.
  int64_t depth(int64_t columns) const {
    if (isPointwise()) {
      return args.channels;
    }
    const int64_t most = std::clamp(kPanel / (columns * taps), int64_t{1}, args.channels);
    return ceilDiv(args.channels, ceilDiv(args.channels, most));
  }
};

} // namespace openreg::kernels
