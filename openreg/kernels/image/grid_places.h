// Where grid samplers look: along each dimension, a position has up to four neighbours with weights, and the weights
// have slopes: what they change by when the position moves.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "kernels/image/grid_sampler.h"

namespace openreg::kernels {

/// The neighbours of a position along one dimension.
template <class C>
struct GridNeighbours {
  int count = 0;
  int64_t at[4];
  bool isInside[4];
  C weight[4];
  C slope[4];    ///< Of the weight, by the grid's number.
  C outside = 0; ///< What elements outside the image, zeros, add to a sum: NaN if the weights aren't numbers.
};

template <class C>
class GridAxis {
 public:
  GridAxis(const GridSamplerArgs& args, int dimension) : args_(args), size_(args.imageSize[dimension]) {}

  GridNeighbours<C> find(C grid) const {
    // Over the image's elements; its slope is that by the grid's number.
    C slope = args_.alignCorners != 0 ? C(size_ - 1) / 2 : C(size_) / 2;
    C at = args_.alignCorners != 0 ? (grid + 1) / 2 * C(size_ - 1) : ((grid + 1) * C(size_) - 1) / 2;
    GridNeighbours<C> found;
    if (args_.interpolation == kCubic) {
      const C left = std::floor(at);
      const C t = at - left;
      for (int i = 0; i < 4; ++i) {
        const C distance = std::abs(t - C(i - 1));
        const C sign = t - C(i - 1) < 0 ? C(-1) : C(1);
        // The neighbours, not the position, are moved into the image.
        C ignored = 1;
        append(found, intoImage(left + C(i - 1), ignored), cubic(distance), cubicSlope(distance) * sign * slope);
      }
      found.outside = at - at;
      return found;
    }
    at = intoImage(at, slope);
    if (args_.interpolation == kNearest) {
      append(found, std::nearbyint(at), C(1), C(0));
      return found;
    }
    const C left = std::floor(at);
    append(found, left, left + 1 - at, -slope);
    append(found, left + 1, at - left, slope);
    found.outside = at - at;
    return found;
  }

 private:
  static constexpr int64_t kNearest = 1;
  static constexpr int64_t kCubic = 2;
  static constexpr int64_t kBorder = 1;
  static constexpr int64_t kReflection = 2;

  void append(GridNeighbours<C>& found, C at, C weight, C slope) const {
    // What is no number, or too large for an integer, is outside.
    const bool isInside = at >= 0 && at <= C(size_ - 1);
    found.at[found.count] = isInside ? static_cast<int64_t>(at) : 0;
    found.isInside[found.count] = isInside;
    found.weight[found.count] = weight;
    found.slope[found.count++] = slope;
  }

  /// Treats a position outside the image as the padding says. @param slope Multiplied by what that does to it.
  C intoImage(C at, C& slope) const {
    if (args_.padding == kReflection) {
      at = args_.alignCorners != 0 ? reflect(at, C(0), C(size_ - 1), slope)
                                   : reflect(at, C(-0.5), C(size_) - C(0.5), slope);
    }
    if (args_.padding == kReflection || args_.padding == kBorder) {
      if (!(at > 0)) { // not a number, too
        slope = 0;
        return 0;
      }
      if (at >= C(size_ - 1)) {
        slope = 0;
        return C(size_ - 1);
      }
    }
    return at;
  }

  static C reflect(C at, C low, C high, C& slope) {
    const C span = high - low;
    if (span <= 0) {
      slope = 0;
      return 0;
    }
    C distance = at - low;
    if (distance < 0) {
      distance = -distance;
      slope = -slope;
    }
    const C rest = std::fmod(distance, span);
    if (std::fmod(std::floor(distance / span), C(2)) == 0) {
      return rest + low;
    }
    slope = -slope;
    return span - rest + low;
  }

  static constexpr C kA = C(-0.75);
  static C cubic(C x) {
    return x <= 1 ? ((kA + 2) * x - (kA + 3)) * x * x + 1 : ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  }
  static C cubicSlope(C x) {
    return x <= 1 ? (3 * (kA + 2) * x - 2 * (kA + 3)) * x : (3 * kA * x - 10 * kA) * x + 8 * kA;
  }

  const GridSamplerArgs& args_;
  int64_t size_;
};

/// What weights change by, by the grid's numbers for depth, height and width.
template <class C>
using GridSlopes = std::array<C, 3>;

/// The neighbours of some positions of one image, along depth, height and width: found once, used for all channels.
template <class C>
class GridPlaces {
 public:
  GridPlaces(const GridSamplerArgs& args, const C* grid, int64_t count) {
    at_.reserve(static_cast<size_t>(count) << args.dims);
    weights_.reserve(at_.capacity());
    slopes_.reserve(at_.capacity());
    for (int64_t i = 0; i < count; ++i, grid += args.dims) {
      GridNeighbours<C> along[3];
      along[0].count = 1; // of an image without depth
      along[0].at[0] = 0;
      along[0].isInside[0] = true;
      along[0].weight[0] = 1;
      along[0].slope[0] = 0;
      for (int dim = 0; dim < args.dims; ++dim) {
        along[2 - dim] = GridAxis<C>(args, 2 - dim).find(grid[dim]);
      }
      first_.push_back(at_.size());
      append(args.imageSize, along);
      // In three dimensions the CPU leaves out what is outside; in two it adds it.
      outside_.push_back(args.dims == 2 ? std::array{along[1].outside, along[2].outside} : std::array{C(0), C(0)});
      isCubic_ = along[2].count == 4;
    }
    first_.push_back(at_.size());
  }

  // The neighbours of all positions in a row, an array for each thing that is asked of them.
  size_t first(int64_t position) const { return first_[static_cast<size_t>(position)]; }
  size_t count() const { return at_.size(); }
  const int64_t* at() const { return at_.data(); } ///< Numbers of elements in their plane.
  const C* weights() const { return weights_.data(); }
  const GridSlopes<C>* slopes() const { return slopes_.data(); }

  /// Where a sum over the neighbours starts.
  C start(int64_t position) const {
    const auto& [height, width] = outside_[static_cast<size_t>(position)];
    return height + width;
  }
  /// Where the sum of what they change by starts. A linear slope is always a number.
  GridSlopes<C> slopesAt(int64_t position) const {
    const auto& [height, width] = outside_[static_cast<size_t>(position)];
    return {C(0), width + (isCubic_ ? height : C(0)), height + (isCubic_ ? width : C(0))};
  }

 private:
  void append(const Extent& size, const GridNeighbours<C> (&along)[3]) {
    const auto& [depth, height, width] = along;
    for (int d = 0; d < depth.count; ++d) {
      for (int h = 0; h < height.count; ++h) {
        for (int w = 0; w < width.count; ++w) {
          if (depth.isInside[d] && height.isInside[h] && width.isInside[w]) {
            at_.push_back((depth.at[d] * size[1] + height.at[h]) * size[2] + width.at[w]);
            weights_.push_back(depth.weight[d] * height.weight[h] * width.weight[w]);
            slopes_.push_back(
                {depth.slope[d] * height.weight[h] * width.weight[w],
                 depth.weight[d] * height.slope[h] * width.weight[w],
                 depth.weight[d] * height.weight[h] * width.slope[w]});
          }
        }
      }
    }
  }

  std::vector<int64_t> at_;
  std::vector<C> weights_;
  std::vector<GridSlopes<C>> slopes_;
  std::vector<size_t> first_; ///< Where each position's neighbours begin; behind them, how many there are.
  std::vector<std::array<C, 2>> outside_;
  bool isCubic_ = false;
};

} // namespace openreg::kernels
