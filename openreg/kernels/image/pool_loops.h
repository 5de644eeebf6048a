// Pooling an element of the result at a time: what a window covers is found, and its elements are looked at.
#pragma once

#include <limits>

#include "kernels/image/pooling.h"
#include "kernels/image/spans.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

inline WindowSpans spansOf(const PoolArgs& args) {
  return WindowSpans(args.window);
}
inline AdaptiveSpans spansOf(const AdaptivePoolArgs& args) {
  return {args.imageSize, args.resultSize};
}

/// What a window covers at one position.
struct Covered {
  Span depth;
  Span height;
  Span width;

  template <class Spans>
  Covered(const Spans& spans, const Place& position)
      : depth(spans.of(0, position.d)), height(spans.of(1, position.h)), width(spans.of(2, position.w)) {}

  int64_t count() const { return depth.count() * height.count() * width.count(); }
};

/// What the sum of the elements that a window covers is divided by.
inline int64_t divisorOf(const PoolArgs& args, const Place& position, const Covered& covered) {
  if (args.divisor != 0) {
    return args.divisor;
  }
  if (args.countsPadding == 0) {
    return std::max(covered.count(), int64_t{1});
  }
  const Window& window = args.window;
  const auto count = [&](int dimension, int64_t at) {
    const int64_t begin = at * window.stride[dimension] - window.padding[dimension];
    const int64_t last = window.image[dimension] + window.padding[dimension];
    return Span{begin, std::min(begin + window.size[dimension], last)}.count();
  };
  return std::max(count(0, position.d) * count(1, position.h) * count(2, position.w), int64_t{1});
}
inline int64_t divisorOf(const AdaptivePoolArgs& /*args*/, const Place& /*position*/, const Covered& covered) {
  return covered.count();
}

/// Calls `use(i, position, covered)` for positions of a window, the first of which is `position`; `i` counts from 0.
template <class Spans, class Use>
void forEachPosition(const Spans& spans, Place position, int64_t count, Use use) {
  int64_t i = 0;
  while (count > 0) {
    const int64_t inRow = std::min(count, spans.result()[2] - position.w);
    Covered covered(spans, position);
    for (const int64_t end = i + inRow; i < end; ++i, ++position.w) {
      covered.width = spans.of(2, position.w); // the others stay, and to find a span takes divisions
      use(i, position, covered);
    }
    count -= inRow;
    --position.w;
    position.next(spans.result());
  }
}

/// A loop over the elements of all planes' results.
template <class C, class Args>
class PoolLoop : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.planes * product(spansOf(this->args_).result()); }

  /// As many as are worth a thread, if a window has as many elements as an even part of the image.
  int64_t grain() const {
    const auto spans = spansOf(this->args_);
    return grainOfRows(product(spans.image()) / std::max(product(spans.result()), int64_t{1}));
  }

 protected:
  /// Calls `use(i, image, position, covered)` for the elements [begin, end): with the number of each, its plane of the
  /// image, where in the plane of results it is, and what its window covers.
  template <class Use>
  void forEach(int64_t begin, int64_t end, Use use) const {
    const auto spans = spansOf(this->args_);
    const int64_t positions = product(spans.result());
    for (int64_t at = begin; at < end;) {
      const int64_t plane = at / positions;
      const int64_t first = at % positions;
      const int64_t count = std::min(positions - first, end - at);
      const C* image = static_cast<const C*>(this->args_.image) + plane * product(spans.image());
      forEachPosition(
          spans, Place::of(spans.result(), first), count,
          [&](int64_t i, const Place& position, const Covered& covered) { use(at + i, image, position, covered); });
      at += count;
    }
  }
};

/// No element is less.
template <class C>
constexpr C kLowest =
    std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();

/// An element that is larger than others.
template <class C>
struct Maximum {
  C value;
  int64_t at; ///< Where in its plane it is.
};

/// The largest element that a window covers. Not a number is larger than any.
template <class C>
Maximum<C> maximumOf(const C* image, const Extent& size, const Covered& covered) {
  const auto [depth, height, width] = covered;
  C largest = kLowest<C>;
  int64_t where = (depth.begin * size[1] + height.begin) * size[2] + width.begin;
  forEachElement(size, depth, height, width, [&](int64_t at) {
    const C value = image[at];
    const bool isLarger = value > largest || value != value;
    largest = isLarger ? value : largest;
    where = isLarger ? at : where;
  });
  return {largest, where};
}

/// The largest element under each window.
template <class C, class Args>
class MaximaOfSpans : public PoolLoop<C, Args> {
 public:
  using PoolLoop<C, Args>::PoolLoop;
  void operator()(int64_t begin, int64_t end) const {
    const Extent& size = spansOf(this->args_).image();
    this->forEach(begin, end, [&](int64_t i, const C* image, const Place& /*position*/, const Covered& covered) {
      const Maximum<C> largest = maximumOf(image, size, covered);
      static_cast<C*>(this->args_.result)[i] = largest.value;
      this->args_.index[i] = largest.at;
    });
  }
};

/// The sum of the elements that a window covers.
template <class C>
C sumOf(const C* image, const Extent& size, const Covered& covered) {
  const auto [depth, height, width] = covered;
  C sum(0);
  forEachElement(size, depth, height, width, [&](int64_t at) { sum += image[at]; });
  return sum;
}

/// The average of the elements under each window.
template <class C, class Args>
class AveragesOfSpans : public PoolLoop<C, Args> {
 public:
  using PoolLoop<C, Args>::PoolLoop;
  void operator()(int64_t begin, int64_t end) const {
    const Extent& size = spansOf(this->args_).image();
    this->forEach(begin, end, [&](int64_t i, const C* image, const Place& position, const Covered& covered) {
      const C sum = sumOf(image, size, covered);
      static_cast<C*>(this->args_.result)[i] = sum / static_cast<C>(divisorOf(this->args_, position, covered));
    });
  }
};

} // namespace openreg::kernels
