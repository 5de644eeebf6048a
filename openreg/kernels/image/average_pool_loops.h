// Pooling by averages on the host: all windows of a plane side by side. First their first elements, then their second
// ones, … So what the compiler makes of it is vector code.
#pragma once

#include <vector>

#include "kernels/image/columns.h"
#include "kernels/image/pool_loops.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// to += from, where elements lie `toStride` and `fromStride` apart.
template <class C>
OPENREG_MULTIVERSION static void
addElements(C* to, int64_t toStride, const C* from, int64_t fromStride, int64_t count) {
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

/// What both directions have in common: the divisors, which are the same in all planes.
template <class C>
class AverageLoop : public LoopOver<PoolArgs> {
 public:
  explicit AverageLoop(const PoolArgs& args) : LoopOver(args), positions_(product(args.window.result)) {
    forEachPosition(
        WindowSpans(args.window), Place{0, 0, 0}, positions_,
        [&](int64_t /*i*/, const Place& position, const Covered& covered) {
          divisors_.push_back(static_cast<C>(divisorOf(args, position, covered)));
        });
  }
  int64_t count() const { return args_.planes; }
  int64_t grain() const { return grainOfRows(positions_ * product(args_.window.size)); }

 protected:
  int64_t positions_;
  std::vector<C> divisors_;
};

template <class C>
class AveragePool : public AverageLoop<C> {
 public:
  using AverageLoop<C>::AverageLoop;
  void operator()(int64_t begin, int64_t end) const {
    const PoolArgs& args = this->args_;
    const int64_t positions = this->positions_;
    for (int64_t plane = begin; plane < end; ++plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(args.window.image);
      C* result = static_cast<C*>(args.result) + plane * positions;
      std::fill_n(result, positions, C(0));
      forEachRun(args.window, 1, 0, positions, [&](const ColumnRun& run) {
        if (run.inside > 0) {
          addElements(result + run.column + run.before, 1, image + run.from, args.window.stride[2], run.inside);
        }
      });
      for (int64_t i = 0; i < positions; ++i) {
        result[i] /= this->divisors_[static_cast<size_t>(i)];
      }
    }
  }
};

template <class C, class Args>
class AveragePoolBackward;

template <class C>
class AveragePoolBackward<C, PoolArgs> : public AverageLoop<C> {
 public:
  using AverageLoop<C>::AverageLoop;
  void operator()(int64_t begin, int64_t end) const {
    const PoolArgs& args = this->args_;
    const int64_t positions = this->positions_;
    std::vector<C> shares(static_cast<size_t>(positions));
    for (int64_t plane = begin; plane < end; ++plane) {
      C* image = static_cast<C*>(args.image) + plane * product(args.window.image);
      const C* result = static_cast<const C*>(args.result) + plane * positions;
      for (size_t i = 0; i < shares.size(); ++i) {
        shares[i] = result[i] / this->divisors_[i];
      }
      std::fill_n(image, product(args.window.image), C(0));
      forEachRun(args.window, 1, 0, positions, [&](const ColumnRun& run) {
        if (run.inside > 0) {
          addElements(image + run.from, args.window.stride[2], shares.data() + run.column + run.before, 1, run.inside);
        }
      });
    }
  }
};

template <class C>
class AveragePoolBackward<C, AdaptivePoolArgs> : public LoopOver<AdaptivePoolArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.planes; }
  int64_t grain() const { return grainOfRows(product(args_.imageSize) + product(args_.resultSize)); }

  void operator()(int64_t begin, int64_t end) const {
    const AdaptiveSpans spans = spansOf(args_);
    for (int64_t plane = begin; plane < end; ++plane) {
      C* image = static_cast<C*>(args_.image) + plane * product(spans.image());
      const C* result = static_cast<const C*>(args_.result) + plane * product(spans.result());
      std::fill_n(image, product(spans.image()), C(0));
      forEachPosition(
          spans, Place{0, 0, 0}, product(spans.result()),
          [&](int64_t i, const Place& position, const Covered& covered) {
            const C share = result[i] / static_cast<C>(divisorOf(args_, position, covered));
            forEachElement(
                spans.image(), covered.depth, covered.height, covered.width, [&](int64_t at) { image[at] += share; });
          });
    }
  }
};

} // namespace openreg::kernels
