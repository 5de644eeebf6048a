// Resizing planes on a GPU: a thread takes an element of the result, or of the gradient, and finds its neighbours
// itself.
#pragma once

#include "kernels/image/spans.h"
#include "kernels/image/upsample_neighbours.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

template <class C>
class Upsample : public LoopOver<UpsampleArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.planes * product(args_.resultSize); }

  void operator()(int64_t begin, int64_t end) const {
    const UpsampleNeighbours<C> depths(args_, 0), heights(args_, 1), widths(args_, 2);
    const int64_t elements = product(args_.resultSize);
    for (int64_t i = begin; i < end; ++i) {
      const C* image = static_cast<const C*>(args_.image) + i / elements * product(args_.imageSize);
      const Place at = Place::of(args_.resultSize, i % elements);
      C sum(0);
      depths.forEach(at.d, [&](int64_t d, C depthWeight) {
        heights.forEach(at.h, [&](int64_t h, C heightWeight) {
          const C* row = image + (d * args_.imageSize[1] + h) * args_.imageSize[2];
          const C weight = depthWeight * heightWeight;
          widths.forEach(at.w, [&](int64_t w, C widthWeight) { sum += row[w] * widthWeight * weight; });
        });
      });
      static_cast<C*>(args_.result)[i] = sum;
    }
  }
};

/// The elements of a result of which a neighbour is a given one. The farther behind an element lies, the farther behind
/// lie its neighbours: so a search finds the first and the last of them.
template <class C>
class UpsampleTakers {
 public:
  UpsampleTakers(const UpsampleNeighbours<C>& neighbours, int64_t neighbour)
      : neighbours_(neighbours), neighbour_(neighbour) {}

  /// Calls `use(element, weight)` for each of them.
  template <class Use>
  void forEach(Use use) const {
    const int64_t last = firstBehind(neighbour_ + 1);
    for (int64_t at = firstUpTo(neighbour_); at < last; ++at) {
      C weight(0);
      neighbours_.forEach(at, [&](int64_t neighbour, C its) { weight += neighbour == neighbour_ ? its : C(0); });
      use(at, weight);
    }
  }

 private:
  /// The first element that has a neighbour at a place or behind it.
  int64_t firstUpTo(int64_t place) const {
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

  const UpsampleNeighbours<C>& neighbours_;
  int64_t neighbour_;
};

template <class C>
class UpsampleBackward : public LoopOver<UpsampleArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.planes * product(args_.imageSize); }

  void operator()(int64_t begin, int64_t end) const {
    const UpsampleNeighbours<C> depths(args_, 0), heights(args_, 1), widths(args_, 2);
    const int64_t elements = product(args_.imageSize);
    for (int64_t i = begin; i < end; ++i) {
      const C* result = static_cast<const C*>(args_.result) + i / elements * product(args_.resultSize);
      const Place at = Place::of(args_.imageSize, i % elements);
      C sum(0);
      UpsampleTakers<C>(depths, at.d).forEach([&](int64_t d, C depthWeight) {
        UpsampleTakers<C>(heights, at.h).forEach([&](int64_t h, C heightWeight) {
          const C* row = result + (d * args_.resultSize[1] + h) * args_.resultSize[2];
          const C weight = depthWeight * heightWeight;
          UpsampleTakers<C>(widths, at.w).forEach([&](int64_t w, C widthWeight) {
            sum += row[w] * widthWeight * weight;
          });
        });
      });
      static_cast<C*>(args_.image)[i] = sum;
    }
  }
};

} // namespace openreg::kernels
