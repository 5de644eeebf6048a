// The kernels "grid_sampler" and "grid_sampler_backward".
#include "kernels/image/grid_sampler.h"

#include <vector>

#include "kernels/image/grid_places.h"
#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: GRID SAMPLER
template <class C>
struct GridSampler {
  void operator()(const GridSamplerArgs& args, orKernelContext& context) const {
    const int64_t positions = product(args.resultSize);
    const int64_t blocks = (positions + kBlock - 1) / kBlock;
    // A piece is a block of positions of one image, for all channels.
    forEachPlane(context, args.batch * blocks, kBlock * args.channels * 8, [&](int64_t piece) {
      sample(args, piece / blocks, piece % blocks * kBlock);
    });
  }

 private:
  static void sample(const GridSamplerArgs& args, int64_t n, int64_t begin) {
    const int64_t positions = product(args.resultSize);
    const int64_t plane = product(args.imageSize);
    const int64_t count = std::min(kBlock, positions - begin);
    const GridPlaces<C> places(args, static_cast<const C*>(args.grid) + (n * positions + begin) * args.dims, count);
    for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
      const C* image = static_cast<const C*>(args.image) + channel * plane;
      C* result = static_cast<C*>(args.result) + channel * positions + begin;
      size_t k = 0;
      for (int64_t i = 0; i < count; ++i) {
        C sum = places.start(i);
        for (const size_t end = places.first(i + 1); k < end; ++k) {
          sum += image[places.at()[k]] * places.weights()[k];
        }
        result[i] = sum;
      }
    }
  }
};
// LITERALINCLUDE END: GRID SAMPLER

template <class C>
struct GridSamplerBackward {
  void operator()(const GridSamplerArgs& args, orKernelContext& context) const {
    // A piece is one image: its positions add to the same elements.
    const int64_t positions = product(args.resultSize);
    forEachPlane(context, args.batch, args.channels * positions * 8, [&](int64_t n) {
      if (args.gradImage != nullptr) {
        const int64_t size = args.channels * product(args.imageSize);
        std::fill_n(static_cast<C*>(args.gradImage) + n * size, size, C(0));
      }
      for (int64_t begin = 0; begin < positions; begin += kBlock) {
        derive(args, n, begin, std::min(kBlock, positions - begin));
      }
    });
  }

 private:
  static void derive(const GridSamplerArgs& args, int64_t n, int64_t begin, int64_t count) {
    const int64_t positions = product(args.resultSize);
    const int64_t plane = product(args.imageSize);
    const int64_t row = (n * positions + begin) * args.dims;
    const GridPlaces<C> places(args, static_cast<const C*>(args.grid) + row, count);
    std::vector<C> sums(places.count()); // of each neighbour, over the channels
    for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
      const C* grad = static_cast<const C*>(args.result) + channel * positions + begin;
      const C* image = static_cast<const C*>(args.image) + channel * plane;
      addUp(places, count, grad, image, sums.data());
      if (args.gradImage != nullptr) {
        spread(places, count, grad, static_cast<C*>(args.gradImage) + channel * plane);
      }
    }
    for (int64_t i = 0; args.gradGrid != nullptr && i < count; ++i) {
      auto slopes = places.slopesAt(i);
      for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
        for (size_t dim = 0; dim < 3; ++dim) {
          slopes[dim] += sums[k] * places.slopes()[k][dim];
        }
      }
      for (int dim = 0; dim < args.dims; ++dim) {
        static_cast<C*>(args.gradGrid)[row + i * args.dims + dim] = slopes[static_cast<size_t>(2 - dim)];
      }
    }
  }

  static void addUp(const GridPlaces<C>& places, int64_t count, const C* grad, const C* image, C* sums) {
    for (int64_t i = 0; i < count; ++i) {
      const C given = grad[i];
      for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
        sums[k] += given * image[places.at()[k]];
      }
    }
  }

  static void spread(const GridPlaces<C>& places, int64_t count, const C* grad, C* gradImage) {
    for (int64_t i = 0; i < count; ++i) {
      const C given = grad[i];
      for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
        gradImage[places.at()[k]] += given * places.weights()[k];
      }
    }
  }
};

const RegisterTypes<"grid_sampler", GridSamplerArgs, GridSampler, float, double> kForward;
const RegisterTypes<"grid_sampler_backward", GridSamplerArgs, GridSamplerBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
