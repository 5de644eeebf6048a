// Resizing planes on a GPU: a thread takes an element of the result, or of the gradient, and finds its neighbours
// itself.
#pragma once

#include "kernels/image/spans.h"
#include "kernels/image/upsample_neighbours.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

/// The elements of a result of which a neighbour is a given one. The farther behind an element lies, the farther behind
/// lie its neighbours: so a search finds the first and the last of them.
template <class C>
class UpsampleTakers {
 public:
  UpsampleTakers(const UpsampleArgs& args, int dimension) : neighbours_(args, dimension) {}

  /// Calls `use(element, weight)` for each of them.
  template <class Use>
  void forEach(int64_t given, Use use) const {
    const int64_t last = firstBehind(given + 1);
    for (int64_t at = firstReaching(given); at < last; ++at) {
      C weight(0);
      neighbours_.forEach(at, [&](int64_t neighbour, C its) { weight += neighbour == given ? its : C(0); });
      use(at, weight);
    }
  }

 private:
  /// The first element that has a neighbour at a place or behind it.
  int64_t firstReaching(int64_t place) const {
    return search([&](int64_t at) {
      int64_t last = 0;
      neighbours_.forEach(at, [&](int64_t neighbour, C) { last = neighbour > last ? neighbour : last; });
      return last >= place;
    });
  }
  /// The first element all of whose neighbours are at a place or behind it.
  int64_t firstBehind(int64_t place) const {
    return search([&](int64_t at) {
      int64_t first = neighbours_.image();
      neighbours_.forEach(at, [&](int64_t neighbour, C) { first = neighbour < first ? neighbour : first; });
      return first >= place;
    });
  }

  template <class IsBehind>
  int64_t search(IsBehind isBehind) const {
    int64_t begin = 0;
    int64_t end = neighbours_.result();
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (isBehind(middle)) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }

  UpsampleNeighbours<C> neighbours_;
};

/// A thread's element is the sum of those that Along finds for it in each dimension, times their weights.
template <class C, class Along>
class ResampleLoop : public LoopOver<UpsampleArgs> {
 public:
  using LoopOver::LoopOver;

 protected:
  /// Writes the elements [begin, end) of all planes. @param from Planes of `fromSize` elements. @param to Of `toSize`.
  void
  resample(const void* from, const Extent& fromSize, void* to, const Extent& toSize, int64_t begin, int64_t end) const {
    const Along depths(args_, 0), heights(args_, 1), widths(args_, 2);
    const int64_t elements = product(toSize);
    for (int64_t i = begin; i < end; ++i) {
      const C* plane = static_cast<const C*>(from) + i / elements * product(fromSize);
      const Place at = Place::of(toSize, i % elements);
      C sum(0);
      depths.forEach(at.d, [&](int64_t d, C depthWeight) {
        heights.forEach(at.h, [&](int64_t h, C heightWeight) {
          const C* row = plane + (d * fromSize[1] + h) * fromSize[2];
          const C weight = depthWeight * heightWeight;
          widths.forEach(at.w, [&](int64_t w, C widthWeight) { sum += row[w] * widthWeight * weight; });
        });
      });
      static_cast<C*>(to)[i] = sum;
    }
  }
};

template <class C>
class Upsample : public ResampleLoop<C, UpsampleNeighbours<C>> {
 public:
  using ResampleLoop<C, UpsampleNeighbours<C>>::ResampleLoop;
  int64_t count() const { return this->args_.planes * product(this->args_.resultSize); }
  void operator()(int64_t begin, int64_t end) const {
    const UpsampleArgs& args = this->args_;
    this->resample(args.image, args.imageSize, args.result, args.resultSize, begin, end);
  }
};

template <class C>
class UpsampleBackward : public ResampleLoop<C, UpsampleTakers<C>> {
 public:
  using ResampleLoop<C, UpsampleTakers<C>>::ResampleLoop;
  int64_t count() const { return this->args_.planes * product(this->args_.imageSize); }
  void operator()(int64_t begin, int64_t end) const {
    const UpsampleArgs& args = this->args_;
    this->resample(args.result, args.resultSize, args.image, args.imageSize, begin, end);
  }
};

} // namespace openreg::kernels
