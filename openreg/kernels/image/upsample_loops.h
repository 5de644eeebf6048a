// Resizing planes on the host. Every interpolation is done by dimensions: along each, an element of the result is a
// weighted sum of some neighbours. These are found once, for all planes.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/image/upsample_taps.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// A row of an image, of which each element of the result takes `count` neighbours; 0: as many as it has.
template <int count, class C>
void resampleRow(const UpsampleTaps<C>& taps, const C* image, C* result) {
  const UpsampleTap<C>* tap = taps.begin(0);
  for (int64_t i = 0; i < taps.result(); ++i) {
    const UpsampleTap<C>* end = count > 0 ? tap + count : taps.end(i);
    if (count == 0 && tap == end) {
      result[i] = C(0);
      continue;
    }
    C sum = image[tap->at] * tap->weight;
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
OPENREG_MULTIVERSION static void resampleRows(const UpsampleTaps<C>& taps, int64_t columns, const C* image, C* result) {
  for (int64_t row = 0; row < taps.result(); ++row, result += columns) {
    if (taps.begin(row) == taps.end(row)) {
      std::fill_n(result, columns, C(0));
    }
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

/// A plane, along one dimension after the other, so that an element costs the sum of the numbers of its neighbours
/// along each, not their product.
template <class C>
void resamplePlane(
    const UpsampleTaps<C> (&taps)[3], const Extent& imageSize, const C* image, const Extent& resultSize, C* result) {
  const int last = !taps[0].same() ? 0 : !taps[1].same() ? 1 : 2;
  Extent size = {imageSize[0], imageSize[1], imageSize[2]};
  std::vector<C> between[3];
  for (int dim = 2; dim >= last; --dim) {
    if (taps[dim].same() && dim != last) {
      continue;
    }
    const int64_t outer = dim == 2 ? size[0] * size[1] : dim == 1 ? size[0] : 1;
    const int64_t inner = dim == 2 ? 1 : dim == 1 ? size[2] : size[1] * size[2];
    size[dim] = resultSize[dim];
    if (dim != last) {
      between[dim].resize(static_cast<size_t>(product(size)));
    }
    C* to = dim == last ? result : between[dim].data();
    resample(taps[dim], outer, inner, image, to);
    image = to;
  }
}

/// A loop over planes, with the neighbours along each dimension.
template <class C>
class ResampleLoop : public LoopOver<UpsampleArgs> {
 public:
  int64_t count() const { return args_.planes; }
  int64_t grain() const { return grainOfRows(product(args_.resultSize)); }

 protected:
  using Taps = UpsampleTaps<C>;
  ResampleLoop(const UpsampleArgs& args, Taps depth, Taps height, Taps width)
      : LoopOver(args), taps_{std::move(depth), std::move(height), std::move(width)} {}

  C* image(int64_t plane) const { return static_cast<C*>(args_.image) + plane * product(args_.imageSize); }
  C* result(int64_t plane) const { return static_cast<C*>(args_.result) + plane * product(args_.resultSize); }

  Taps taps_[3];
};

template <class C>
class Upsample : public ResampleLoop<C> {
 public:
  explicit Upsample(const UpsampleArgs& args) : ResampleLoop<C>(args, {args, 0}, {args, 1}, {args, 2}) {}
  void operator()(int64_t begin, int64_t end) const {
    const UpsampleArgs& args = this->args_;
    for (int64_t plane = begin; plane < end; ++plane) {
      resamplePlane<C>(this->taps_, args.imageSize, this->image(plane), args.resultSize, this->result(plane));
    }
  }
};

/// The same the other way round: of each element of the image, the sum of what the result took of it.
template <class C>
class UpsampleBackward : public ResampleLoop<C> {
  using Taps = UpsampleTaps<C>;

 public:
  explicit UpsampleBackward(const UpsampleArgs& args)
      : ResampleLoop<C>(args, Taps(args, 0).transposed(), Taps(args, 1).transposed(), Taps(args, 2).transposed()) {}
  void operator()(int64_t begin, int64_t end) const {
    const UpsampleArgs& args = this->args_;
    for (int64_t plane = begin; plane < end; ++plane) {
      C* image = this->image(plane);
      resamplePlane<C>(this->taps_, args.resultSize, this->result(plane), args.imageSize, image);
      for (int64_t i = 0; i < product(args.imageSize); ++i) {
        image[i] += C(0); // A gradient is what has been added to zeros, so none is -0.
      }
    }
  }
};

} // namespace openreg::kernels
