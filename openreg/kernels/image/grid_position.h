// Where grid samplers look: along each dimension, a position has up to four neighbours with weights, and the weights
// have slopes: what they change by when the position moves.
#pragma once

#include <cmath>

#include "kernels/image/grid_sampler.h"

namespace openreg::kernels {

/// What weights change by, by the grid's numbers for depth, height and width.
template <class C>
struct GridSlopes {
  C by[3];
};

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

/// The neighbours of a position along depth, height and width. @param grid The position: width, height, depth.
template <class C>
struct GridPosition {
  GridNeighbours<C> along[3];

  GridPosition(const GridSamplerArgs& args, const C* grid) {
    along[0].count = 1; // of an image without depth
    along[0].at[0] = 0;
    along[0].isInside[0] = true;
    along[0].weight[0] = 1;
    along[0].slope[0] = 0;
    for (int dim = 0; dim < args.dims; ++dim) {
      along[2 - dim] = GridAxis<C>(args, 2 - dim).find(grid[dim]);
    }
    if (args.dims == 3) { // In three dimensions the CPU leaves out what is outside; in two it adds it.
      along[1].outside = along[2].outside = 0;
    }
  }

  /// Where a sum over the neighbours starts.
  C start() const { return along[1].outside + along[2].outside; }

  /// Where the sum of what they change by starts, along a dimension. A linear slope is always a number.
  C startOfSlope(int dimension) const {
    if (dimension == 0) {
      return C(0);
    }
    const bool isCubic = along[2].count == 4;
    return along[3 - dimension].outside + (isCubic ? along[dimension].outside : C(0));
  }

  /// Calls `use(at, weight, slopes)` for each neighbour inside the image: its number in its plane, and what its weight
  /// changes by, by the grid's numbers for depth, height and width.
  template <class Use>
  void forEachNeighbour(const Extent& size, Use use) const {
    const auto& [depth, height, width] = along;
    for (int d = 0; d < depth.count; ++d) {
      for (int h = 0; h < height.count; ++h) {
        for (int w = 0; w < width.count; ++w) {
          if (depth.isInside[d] && height.isInside[h] && width.isInside[w]) {
            const GridSlopes<C> slopes = {
                depth.slope[d] * height.weight[h] * width.weight[w],
                depth.weight[d] * height.slope[h] * width.weight[w],
                depth.weight[d] * height.weight[h] * width.slope[w]};
            use((depth.at[d] * size[1] + height.at[h]) * size[2] + width.at[w],
                depth.weight[d] * height.weight[h] * width.weight[w], slopes);
          }
        }
      }
    }
  }
};

} // namespace openreg::kernels
