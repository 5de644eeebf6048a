// The kernels "upsample" and "upsample_backward". Every interpolation is done by dimensions: along each, an element of
// the result is a weighted sum of some neighbours. These are found once, for all planes.
#include "kernels/image/upsample.h"

#include <vector>

#include "kernels/image/planes.h"
#include "kernels/image/upsample_taps.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// A row of an image, of which each element of the result takes `count` neighbours; 0: as many as it has.
template <int count, class C>
void resampleRow(const UpsampleTaps<C>& taps, const C* image, C* result) {
  const UpsampleTap<C>* tap = taps.begin(0);
  for (int64_t i = 0; i < taps.result(); ++i) {
    C sum = image[tap->at] * tap->weight;
    const UpsampleTap<C>* end = count > 0 ? tap + count : taps.end(i);
    for (++tap; tap != end; ++tap) {
      sum += image[tap->at] * tap->weight;
    }
    result[i] = sum;
  }
}

template <class C>
void copyRow(const UpsampleTaps<C>& taps, const C* image, C* result) {
  const UpsampleTap<C>* tap = taps.begin(0);
  for (int64_t i = 0; i < taps.result(); ++i) {
    result[i] = image[tap[i].at];
  }
}

template <class C>
auto rowFunction(const UpsampleTaps<C>& taps) {
  return taps.copies()       ? &copyRow<C>
         : taps.count() == 2 ? &resampleRow<2, C>
         : taps.count() == 4 ? &resampleRow<4, C>
                             : &resampleRow<0, C>;
}

/// Rows of `columns` elements, of which the result has another number: sums of whole rows.
template <class C>
OPENREG_MULTIVERSION void resampleRows(const UpsampleTaps<C>& taps, int64_t columns, const C* image, C* result) {
  for (int64_t row = 0; row < taps.result(); ++row, result += columns) {
    for (const UpsampleTap<C>* tap = taps.begin(row); tap != taps.end(row); ++tap) {
      const C* from = image + tap->at * columns;
      const C weight = tap->weight;
      if (tap == taps.begin(row)) {
        OPENREG_IVDEP // An image and its result are apart.
        for (int64_t i = 0; i < columns; ++i) {
          result[i] = from[i] * weight;
        }
      } else {
        OPENREG_IVDEP
        for (int64_t i = 0; i < columns; ++i) {
          result[i] += from[i] * weight;
        }
      }
    }
  }
}

/// An array of outer × taps.image() × inner elements, resized along the dimension in the middle.
template <class C>
void resample(const UpsampleTaps<C>& taps, int64_t outer, int64_t inner, const C* image, C* result) {
  const auto resampleOne = inner == 1 ? rowFunction(taps) : nullptr;
  for (int64_t i = 0; i < outer; ++i) {
    inner == 1 ? resampleOne(taps, image, result) : resampleRows(taps, inner, image, result);
    image += taps.image() * inner;
    result += taps.result() * inner;
  }
}

template <class C>
struct Upsample {
  void operator()(const UpsampleArgs& args, orKernelContext& context) const {
    const UpsampleTaps<C> taps[3] = {{args, 0}, {args, 1}, {args, 2}};
    forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
      resize(
          args, taps, static_cast<const C*>(args.image) + plane * product(args.imageSize),
          static_cast<C*>(args.result) + plane * product(args.resultSize));
    });
  }

 private:
  /// Along one dimension after the other, so that an element costs the sum of the numbers of its neighbours along each,
  /// not their product.
  static void resize(const UpsampleArgs& args, const UpsampleTaps<C> (&taps)[3], const C* image, C* result) {
    const int last = !taps[0].same() ? 0 : !taps[1].same() ? 1 : 2;
    Extent size = {args.imageSize[0], args.imageSize[1], args.imageSize[2]};
    std::vector<C> between[3];
    for (int dim = 2; dim >= last; --dim) {
      if (taps[dim].same() && dim != last) {
        continue;
      }
      const int64_t outer = dim == 2 ? size[0] * size[1] : dim == 1 ? size[0] : 1;
      const int64_t inner = dim == 2 ? 1 : dim == 1 ? size[2] : size[1] * size[2];
      size[dim] = args.resultSize[dim];
      if (dim != last) {
        between[dim].resize(static_cast<size_t>(product(size)));
      }
      C* to = dim == last ? result : between[dim].data();
      resample(taps[dim], outer, inner, image, to);
      image = to;
    }
  }
};

/// Calls `use(result, image, weight)` for each pair of elements of a row of the result and a row of the image.
template <class C, class Use>
void forEachPairOfRows(const UpsampleTaps<C>& taps, int64_t count, int64_t to, int64_t from, C weight, Use use) {
  if (taps.count() == 1) { // as of all that takes the nearest: a loop in which nothing is looked up
    const UpsampleTap<C>* tap = taps.begin(0);
    for (int64_t w = 0; w < count; ++w) {
      use(to + w, from + tap[w].at, weight * tap[w].weight);
    }
    return;
  }
  for (int64_t w = 0; w < count; ++w) {
    for (const auto* tap = taps.begin(w); tap != taps.end(w); ++tap) {
      use(to + w, from + tap->at, weight * tap->weight);
    }
  }
}

/// Calls `use(result, image, weight)` for each pair of elements of a plane that have to do with each other.
template <class C, class Use>
void forEachPair(const UpsampleArgs& args, const UpsampleTaps<C> (&taps)[3], Use use) {
  int64_t to = 0;
  for (int64_t d = 0; d < args.resultSize[0]; ++d) {
    for (int64_t h = 0; h < args.resultSize[1]; ++h, to += args.resultSize[2]) {
      for (const auto* depth = taps[0].begin(d); depth != taps[0].end(d); ++depth) {
        for (const auto* height = taps[1].begin(h); height != taps[1].end(h); ++height) {
          const int64_t from = (depth->at * args.imageSize[1] + height->at) * args.imageSize[2];
          forEachPairOfRows(taps[2], args.resultSize[2], to, from, depth->weight * height->weight, use);
        }
      }
    }
  }
}

template <class C>
struct UpsampleBackward {
  void operator()(const UpsampleArgs& args, orKernelContext& context) const {
    const UpsampleTaps<C> taps[3] = {{args, 0}, {args, 1}, {args, 2}};
    forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
      C* image = static_cast<C*>(args.image) + plane * product(args.imageSize);
      const C* result = static_cast<const C*>(args.result) + plane * product(args.resultSize);
      std::fill_n(image, product(args.imageSize), C(0));
      forEachPair(args, taps, [&](int64_t from, int64_t to, C weight) { image[to] += result[from] * weight; });
    });
  }
};

const RegisterTypes<UpsampleArgs, Upsample, int64_t, float, double> kForward("upsample");
const RegisterTypes<UpsampleArgs, UpsampleBackward, float, double> kBackward("upsample_backward");

} // namespace

} // namespace openreg::kernels
