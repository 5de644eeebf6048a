// The kernels "max_pool" and "adaptive_max_pool", and their backward kernels.
#include <limits>
#include <type_traits>
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

template <class C>
constexpr C kLowest =
    std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();

/// Numbers of a plane's elements, as wide as the elements: then a loop over both becomes vector code.
template <class C>
using Index = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;

/// Puts each of `count` elements in place of the largest so far, if it is larger. Not a number is larger than any.
template <class C>
OPENREG_MULTIVERSION void
takeLarger(C* largest, Index<C>* where, const C* elements, int64_t stride, Index<C> first, int64_t count) {
  const auto take = [&](int64_t i, C value, Index<C> at) __attribute__((always_inline)) {
    const bool isLarger = (value > largest[i]) | (value != value);
    largest[i] = isLarger ? value : largest[i];
    where[i] = isLarger ? at : where[i];
  };
  if (stride == 1) {
    OPENREG_IVDEP // Three arrays.
    for (int64_t i = 0; i < count; ++i) {
      take(i, elements[i], static_cast<Index<C>>(first + i));
    }
  } else if (stride == 2) {
    OPENREG_IVDEP
    for (int64_t i = 0; i < count; ++i) {
      take(i, elements[2 * i], static_cast<Index<C>>(first + 2 * i));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      take(i, elements[i * stride], static_cast<Index<C>>(first + i * stride));
    }
  }
}

/// The same for windows whose sizes differ.
template <class C>
void findMaxima(const AdaptivePoolArgs& args, int64_t plane) {
  const C* image = static_cast<const C*>(args.image) + plane * product(args.imageSize);
  C* result = static_cast<C*>(args.result) + plane * product(args.resultSize);
  int64_t* index = args.index + plane * product(args.resultSize);
  const auto spanOf = [&](int dimension, int64_t at) {
    return adaptiveSpan(args.imageSize[dimension], args.resultSize[dimension], at);
  };
  forEachPosition(args.resultSize, spanOf, [&](int64_t i, const Span& depth, const Span& height, const Span& width) {
    C largest = kLowest<C>;
    int64_t where = (depth.begin * args.imageSize[1] + height.begin) * args.imageSize[2] + width.begin;
    forEachElement(args.imageSize, depth, height, width, [&](int64_t at) {
      const C value = image[at];
      const bool isLarger = value > largest || value != value;
      largest = isLarger ? value : largest;
      where = isLarger ? at : where;
    });
    result[i] = largest;
    index[i] = where;
  });
}

/// Gives each gradient to the element that it belongs to.
template <class C>
void spreadMaxima(C* image, int64_t elements, const C* result, const int64_t* index, int64_t count) {
  std::fill_n(image, elements, C(0));
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] >= 0 && index[i] < elements) {
      image[index[i]] += result[i];
    }
  }
}

template <class C>
struct MaxPool {
  void operator()(const PoolArgs& args, orKernelContext& context) const {
    const Window& window = args.window;
    const int64_t count = product(window.result);
    if (product(window.image) > std::numeric_limits<Index<C>>::max()) {
      return context.fail(&context, orErrorInvalidValue, "a plane has more elements than the kernel can number");
    }
    // Where each window's first element is: what a window is said to have as its largest if none is above the lowest.
    std::vector<Index<C>> first;
    forEachPosition(
        window.result, [&](int dimension, int64_t at) { return windowSpan(window, dimension, at); },
        [&](int64_t, const Span& depth, const Span& height, const Span& width) {
          const int64_t at = (depth.begin * window.image[1] + height.begin) * window.image[2] + width.begin;
          first.push_back(static_cast<Index<C>>(at));
        });
    forEachPlane(context, args.planes, count * product(window.size), [&](int64_t plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(window.image);
      C* result = static_cast<C*>(args.result) + plane * count;
      std::vector<Index<C>> where(first);
      std::fill_n(result, count, kLowest<C>);
      // All windows side by side: first their first elements, then their second ones, …
      forEachRun(window, 1, 0, count, [&](const ColumnRun& run) {
        const int64_t at = run.column + run.before;
        if (run.inside > 0) {
          takeLarger(
              result + at, where.data() + at, image + run.from, window.stride[2], static_cast<Index<C>>(run.from),
              run.inside);
        }
      });
      std::copy(where.begin(), where.end(), args.index + plane * count);
    });
  }
};

template <class C>
struct AdaptiveMaxPool {
  void operator()(const AdaptivePoolArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.planes, product(args.imageSize), [&](int64_t plane) { findMaxima<C>(args, plane); });
  }
};

/// Both kinds: the gradients go where the indices say.
template <class C>
struct MaxPoolBackward {
  void operator()(const PoolArgs& args, orKernelContext& context) const {
    const int64_t elements = product(args.window.image);
    const int64_t count = product(args.window.result);
    forEachPlane(context, args.planes, elements, [&](int64_t plane) {
      spreadMaxima(
          static_cast<C*>(args.image) + plane * elements, elements, static_cast<const C*>(args.result) + plane * count,
          args.index + plane * count, count);
    });
  }
};

const RegisterTypes<"max_pool", PoolArgs, MaxPool, int64_t, float, double> kForward;
const RegisterTypes<"adaptive_max_pool", AdaptivePoolArgs, AdaptiveMaxPool, float, double> kAdaptive;
const RegisterTypes<"max_pool_backward", PoolArgs, MaxPoolBackward, int64_t, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
