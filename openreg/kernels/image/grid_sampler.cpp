// The kernels "grid_sampler" and "grid_sampler_backward". Along each dimension, a position has up to four neighbours
// with weights, and the weights have slopes: what they change by when the position moves.
#include "kernels/image/grid_sampler.h"

#include <cmath>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// The neighbours of a position along one dimension.
template <class C>
struct Neighbours {
  int count = 0;
  int64_t at[4];
  bool isInside[4];
  C weight[4];
  C slope[4];    ///< Of the weight, by the grid's number.
  C outside = 0; ///< What elements outside the image, zeros, add to a sum: NaN if the weights aren't numbers.
};

template <class C>
class Axis {
 public:
  Axis(const GridSamplerArgs& args, int dimension) : args_(args), size_(args.imageSize[dimension]) {}

  Neighbours<C> find(C grid) const {
    // Over the image's elements; its slope is that by the grid's number.
    C slope = args_.alignCorners != 0 ? C(size_ - 1) / 2 : C(size_) / 2;
    C at = args_.alignCorners != 0 ? (grid + 1) / 2 * C(size_ - 1) : ((grid + 1) * C(size_) - 1) / 2;
    Neighbours<C> found;
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

  void append(Neighbours<C>& found, C at, C weight, C slope) const {
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

/// The neighbours of one position, along depth, height and width.
template <class C>
struct Place {
  Neighbours<C> along[3];

  Place(const GridSamplerArgs& args, const C* grid) {
    along[0].count = 1; // of an image without depth
    along[0].at[0] = 0;
    along[0].isInside[0] = true;
    along[0].weight[0] = 1;
    along[0].slope[0] = 0;
    for (int i = 0; i < args.dims; ++i) {
      along[2 - i] = Axis<C>(args, 2 - i).find(grid[i]);
    }
  }

  /// Calls `use(at, d, h, w)` for each element of the image that counts, and its number among the neighbours.
  template <class Use>
  void forEach(const Extent& size, Use use) const {
    for (int d = 0; d < along[0].count; ++d) {
      for (int h = 0; h < along[1].count; ++h) {
        for (int w = 0; w < along[2].count; ++w) {
          if (along[0].isInside[d] && along[1].isInside[h] && along[2].isInside[w]) {
            use((along[0].at[d] * size[1] + along[1].at[h]) * size[2] + along[2].at[w], d, h, w);
          }
        }
      }
    }
  }
  /// Where a sum over the neighbours starts. In three dimensions the CPU leaves out what is outside; in two it adds it.
  C start(const GridSamplerArgs& args) const { return args.dims == 2 ? along[1].outside + along[2].outside : C(0); }
  C weight(int d, int h, int w) const { return along[0].weight[d] * along[1].weight[h] * along[2].weight[w]; }
};

template <class C>
struct GridSampler {
  void operator()(const GridSamplerArgs& args, orKernelContext& context) const {
    const int64_t positions = product(args.resultSize);
    const int64_t plane = product(args.imageSize);
    // A piece is one position of one image, for all channels.
    forEachPlane(context, args.batch * positions, args.channels * 8, [&](int64_t piece) {
      const int64_t n = piece / positions;
      const Place<C> place(args, static_cast<const C*>(args.grid) + piece * args.dims);
      C* result = static_cast<C*>(args.result) + n * args.channels * positions + piece % positions;
      const C* image = static_cast<const C*>(args.image) + n * args.channels * plane;
      for (int64_t channel = 0; channel < args.channels; ++channel) {
        C sum = place.start(args);
        place.forEach(args.imageSize, [&](int64_t at, int d, int h, int w) {
          sum += image[channel * plane + at] * place.weight(d, h, w);
        });
        result[channel * positions] = sum;
      }
    });
  }
};

template <class C>
struct GridSamplerBackward {
  void operator()(const GridSamplerArgs& args, orKernelContext& context) const {
    // A piece is one image: its positions add to the same elements.
    forEachPlane(context, args.batch, args.channels * product(args.resultSize) * 8, [&](int64_t n) { image(args, n); });
  }

 private:
  static void image(const GridSamplerArgs& args, int64_t n) {
    const int64_t positions = product(args.resultSize);
    const int64_t plane = product(args.imageSize);
    const C* from = static_cast<const C*>(args.image) + n * args.channels * plane;
    const C* grad = static_cast<const C*>(args.result) + n * args.channels * positions;
    C* gradImage = args.gradImage == nullptr ? nullptr : static_cast<C*>(args.gradImage) + n * args.channels * plane;
    if (gradImage != nullptr) {
      std::fill_n(gradImage, args.channels * plane, C(0));
    }
    for (int64_t position = 0; position < positions; ++position) {
      const int64_t row = (n * positions + position) * args.dims;
      const Place<C> place(args, static_cast<const C*>(args.grid) + row);
      C slopes[3] = {};
      if (args.dims == 2) { // as in start(); a linear slope is always a number
        const bool isCubic = place.along[1].count == 4;
        slopes[1] = place.along[2].outside + (isCubic ? place.along[1].outside : C(0));
        slopes[2] = place.along[1].outside + (isCubic ? place.along[2].outside : C(0));
      }
      place.forEach(args.imageSize, [&](int64_t at, int d, int h, int w) {
        const auto& [depth, height, width] = place.along;
        C sum = 0;
        for (int64_t channel = 0; channel < args.channels; ++channel) {
          const C given = grad[channel * positions + position];
          sum += given * from[channel * plane + at];
          if (gradImage != nullptr) {
            gradImage[channel * plane + at] += given * place.weight(d, h, w);
          }
        }
        slopes[0] += sum * depth.slope[d] * height.weight[h] * width.weight[w];
        slopes[1] += sum * depth.weight[d] * height.slope[h] * width.weight[w];
        slopes[2] += sum * depth.weight[d] * height.weight[h] * width.slope[w];
      });
      for (int i = 0; args.gradGrid != nullptr && i < args.dims; ++i) {
        static_cast<C*>(args.gradGrid)[row + i] = slopes[2 - i];
      }
    }
  }
};

const RegisterTypes<GridSamplerArgs, GridSampler, float, double> kForward("grid_sampler");
const RegisterTypes<GridSamplerArgs, GridSamplerBackward, float, double> kBackward("grid_sampler_backward");

} // namespace

} // namespace openreg::kernels
