// The kernels "average_pool", "adaptive_average_pool" and their backward kernels.
#include <vector>

#include "kernels/image/columns.h"
#include "kernels/image/planes.h"
#include "kernels/image/pooling.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// to += from, where elements lie `toStride` and `fromStride` apart.
template <class C>
OPENREG_MULTIVERSION void addElements(C* to, int64_t toStride, const C* from, int64_t fromStride, int64_t count) {
  if (toStride == 1 && fromStride == 1) {
    OPENREG_IVDEP // Two arrays.
    for (int64_t i = 0; i < count; ++i) {
      to[i] += from[i];
    }
  } else {
    OPENREG_IVDEP
    for (int64_t i = 0; i < count; ++i) {
      to[i * toStride] += from[i * fromStride];
    }
  }
}

/// What the sum of each window is divided by.
template <class C>
std::vector<C> divisorsOf(const PoolArgs& args) {
  const Window& window = args.window;
  std::vector<C> divisors;
  const auto spanOf = [&](int dimension, int64_t at) {
    if (args.countsPadding == 0) {
      return windowSpan(window, dimension, at);
    }
    const int64_t begin = at * window.stride[dimension] - window.padding[dimension];
    const int64_t last = window.image[dimension] + window.padding[dimension];
    return Span{begin, std::min(begin + window.size[dimension], last)};
  };
  forEachPosition(window.result, spanOf, [&](int64_t, const Span& depth, const Span& height, const Span& width) {
    const int64_t count = depth.count() * height.count() * width.count();
    divisors.push_back(static_cast<C>(args.divisor != 0 ? args.divisor : std::max(count, int64_t{1})));
  });
  return divisors;
}

// All windows side by side: first their first elements, then their second ones, …

template <class C>
struct AveragePool {
  void operator()(const PoolArgs& args, orKernelContext& context) const {
    const Window& window = args.window;
    const std::vector<C> divisors = divisorsOf<C>(args);
    const int64_t count = product(window.result);
    forEachPlane(context, args.planes, count * product(window.size), [&](int64_t plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(window.image);
      C* result = static_cast<C*>(args.result) + plane * count;
      std::fill_n(result, count, C(0));
      forEachRun(window, 1, 0, count, [&](const ColumnRun& run) {
        if (run.inside > 0) {
          addElements(result + run.column + run.before, 1, image + run.from, window.stride[2], run.inside);
        }
      });
      for (int64_t i = 0; i < count; ++i) {
        result[i] /= divisors[static_cast<size_t>(i)];
      }
    });
  }
};

template <class C>
struct AveragePoolBackward {
  void operator()(const PoolArgs& args, orKernelContext& context) const {
    const Window& window = args.window;
    const std::vector<C> divisors = divisorsOf<C>(args);
    const int64_t count = product(window.result);
    forEachPlane(context, args.planes, count * product(window.size), [&](int64_t plane) {
      C* image = static_cast<C*>(args.image) + plane * product(window.image);
      const C* result = static_cast<const C*>(args.result) + plane * count;
      std::vector<C> shares(divisors.size());
      for (size_t i = 0; i < shares.size(); ++i) {
        shares[i] = result[i] / divisors[i];
      }
      std::fill_n(image, product(window.image), C(0));
      forEachRun(window, 1, 0, count, [&](const ColumnRun& run) {
        if (run.inside > 0) {
          addElements(image + run.from, window.stride[2], shares.data() + run.column + run.before, 1, run.inside);
        }
      });
    });
  }
};

/// Calls `use(i, count, depth, height, width)` for each position, with the number of elements that it covers.
template <class Use>
void forEachAverage(const AdaptivePoolArgs& args, Use use) {
  const auto spanOf = [&](int dimension, int64_t at) {
    return adaptiveSpan(args.imageSize[dimension], args.resultSize[dimension], at);
  };
  forEachPosition(args.resultSize, spanOf, [&](int64_t i, const Span& depth, const Span& height, const Span& width) {
    use(i, depth.count() * height.count() * width.count(), depth, height, width);
  });
}

template <class C>
struct AdaptiveAveragePool {
  void operator()(const AdaptivePoolArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.planes, product(args.imageSize) + product(args.resultSize), [&](int64_t plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(args.imageSize);
      C* result = static_cast<C*>(args.result) + plane * product(args.resultSize);
      forEachAverage(args, [&](int64_t i, int64_t count, const Span& depth, const Span& height, const Span& width) {
        C sum(0);
        forEachElement(args.imageSize, depth, height, width, [&](int64_t at) { sum += image[at]; });
        result[i] = sum / static_cast<C>(count);
      });
    });
  }
};

template <class C>
struct AdaptiveAveragePoolBackward {
  void operator()(const AdaptivePoolArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.planes, product(args.imageSize) + product(args.resultSize), [&](int64_t plane) {
      C* image = static_cast<C*>(args.image) + plane * product(args.imageSize);
      const C* result = static_cast<const C*>(args.result) + plane * product(args.resultSize);
      std::fill_n(image, product(args.imageSize), C(0));
      forEachAverage(args, [&](int64_t i, int64_t count, const Span& depth, const Span& height, const Span& width) {
        const C share = result[i] / static_cast<C>(count);
        forEachElement(args.imageSize, depth, height, width, [&](int64_t at) { image[at] += share; });
      });
    });
  }
};

const RegisterTypes<"average_pool", PoolArgs, AveragePool, int64_t, float, double> kForward;
const RegisterTypes<"average_pool_backward", PoolArgs, AveragePoolBackward, int64_t, float, double> kBackward;
const RegisterTypes<"adaptive_average_pool", AdaptivePoolArgs, AdaptiveAveragePool, float, double> kAdaptive;
const RegisterTypes<"adaptive_average_pool_backward", AdaptivePoolArgs, AdaptiveAveragePoolBackward, float, double>
    kAdaptiveBackward;

} // namespace

} // namespace openreg::kernels
