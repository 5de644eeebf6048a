// Pooling by maxima on the host: all windows of a plane side by side. First their first elements, then their second
// ones, … So what the compiler makes of it is vector code.
#pragma once

#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/image/columns.h"
#include "kernels/image/pool_loops.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// Numbers of a plane's elements, as wide as the elements: then a loop over both becomes vector code.
template <class C>
using Index = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;

/// Puts each of `count` elements in place of the largest so far, if it is larger. Not a number is larger than any.
template <class C>
OPENREG_MULTIVERSION static void
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

template <class C>
class MaxPool : public LoopOver<PoolArgs> {
 public:
  static const char* refusal(const PoolArgs& args) {
    return product(args.window.image) > std::numeric_limits<Index<C>>::max()
               ? "a plane has more elements than the kernel can number"
               : nullptr;
  }
  explicit MaxPool(const PoolArgs& args) : LoopOver(args), positions_(product(args.window.result)) {
    forEachPosition(
        WindowSpans(args.window), Place{0, 0, 0}, positions_,
        [&](int64_t /*i*/, const Place& /*position*/, const Covered& covered) {
          const int64_t row = covered.depth.begin * args.window.image[1] + covered.height.begin;
          first_.push_back(static_cast<Index<C>>(row * args.window.image[2] + covered.width.begin));
        });
  }

  int64_t count() const { return args_.planes; }
  int64_t grain() const { return grainOfRows(positions_ * product(args_.window.size)); }

  void operator()(int64_t begin, int64_t end) const {
    const Window& window = args_.window;
    std::vector<Index<C>> where(first_.size());
    for (int64_t plane = begin; plane < end; ++plane) {
      const C* image = static_cast<const C*>(args_.image) + plane * product(window.image);
      C* result = static_cast<C*>(args_.result) + plane * positions_;
      where = first_;
      std::fill_n(result, positions_, kLowest<C>);
      forEachRun(window, 1, 0, positions_, [&](const ColumnRun& run) {
        const int64_t at = run.column + run.before;
        if (run.inside > 0) {
          takeLarger(
              result + at, where.data() + at, image + run.from, window.stride[2], static_cast<Index<C>>(run.from),
              run.inside);
        }
      });
      std::copy(where.begin(), where.end(), args_.index + plane * positions_);
    }
  }

 private:
  int64_t positions_;
  /// Where each window's first element is: what a window is said to have as its largest if none is above the lowest.
  std::vector<Index<C>> first_;
};

/// Gives each gradient to the element that it belongs to.
template <class C, class Args>
class MaxPoolBackward : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.planes; }
  int64_t grain() const { return grainOfRows(product(spansOf(this->args_).image())); }

  void operator()(int64_t begin, int64_t end) const {
    const auto spans = spansOf(this->args_);
    const int64_t elements = product(spans.image());
    const int64_t positions = product(spans.result());
    for (int64_t plane = begin; plane < end; ++plane) {
      C* image = static_cast<C*>(this->args_.image) + plane * elements;
      const C* result = static_cast<const C*>(this->args_.result) + plane * positions;
      const int64_t* index = this->args_.index + plane * positions;
      std::fill_n(image, elements, C(0));
      for (int64_t i = 0; i < positions; ++i) {
        if (index[i] >= 0 && index[i] < elements) {
          image[index[i]] += result[i];
        }
      }
    }
  }
};

} // namespace openreg::kernels
