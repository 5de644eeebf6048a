// The kernels "weight_norm.…" and "weight_norm_backward.…": vectors of which each gets a length of its own.
#include <cmath>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

/// Elements of several vectors that lie side by side: to each sum, the product of two numbers.
template <class C>
OPENREG_MULTIVERSION void addProducts(const C* x, const C* y, int64_t count, double* sums) {
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
}

/// out = (x − y · along) · scale
template <class C>
OPENREG_MULTIVERSION void takeOff(C* out, const C* x, const C* y, const C* along, const C* scale, int64_t count) {
  OPENREG_IVDEP // `out` is the kernel's own.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (x[i] - y[i] * along[i]) * scale[i];
  }
}

/// Vectors [begin, end) of those that lie in an array of outer × vectors × inner numbers.
struct Vectors {
  int64_t outer;
  int64_t vectors;
  int64_t inner;
  int64_t begin;
  int64_t end;

  int64_t count() const { return end - begin; }

  /// Calls `run(first, offset)` for each run of numbers of one vector; `first` is the vector's number within these.
  template <class Run>
  void eachRun(Run run) const {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t k = 0; k < count(); ++k) {
        run(k, (i * vectors + begin + k) * inner);
      }
    }
  }
  /// Calls `side(offset)` where there are no runs, for each place where numbers of all these vectors lie side by side.
  template <class Side>
  void eachSide(Side side) const {
    for (int64_t i = 0; i < outer; ++i) {
      side(i * vectors + begin);
    }
  }

  /// The product of each vector of x and the same of y.
  template <class C>
  std::vector<double> products(const C* x, const C* y) const {
    std::vector<double> sums(static_cast<size_t>(count()));
    if (inner == 1) {
      eachSide([&](int64_t at) { addProducts(x + at, y + at, count(), sums.data()); });
    } else {
      eachRun([&](int64_t k, int64_t at) { sums[static_cast<size_t>(k)] += productsOf(x + at, C(0), y + at, inner); });
    }
    return sums;
  }
};

/// Calls `use(args, vectors)` for all vectors, some at a time.
template <class Args, class Use>
void forEachVector(const Args& args, orKernelContext& context, Use) {
  context.parallelFor(
      &context, args.vectors, std::max(int64_t{1}, kGrain / std::max(int64_t{1}, args.outer * args.inner)),
      [](void* state, int64_t begin, int64_t end) {
        const auto& args = *static_cast<const Args*>(state);
        Use{}(args, Vectors{args.outer, args.vectors, args.inner, begin, end});
      },
      const_cast<Args*>(&args));
}

template <class C>
struct WeightNorm {
  void operator()(const WeightNormArgs& args, orKernelContext& context) const {
    forEachVector(args, context, [](const WeightNormArgs& args, const Vectors& these) {
      const C* in = static_cast<const C*>(args.direction);
      C* out = static_cast<C*>(args.output);
      const auto squares = these.products(in, in);
      std::vector<C> scales(squares.size());
      for (size_t k = 0; k < scales.size(); ++k) {
        const size_t at = static_cast<size_t>(these.begin) + k;
        const C norm = static_cast<C>(std::sqrt(squares[k]));
        static_cast<C*>(args.norms)[at] = norm;
        scales[k] = static_cast<const C*>(args.length)[at] / norm;
      }
      if (these.inner == 1) {
        these.eachSide([&](int64_t at) { multiplyRows(out + at, in + at, scales.data(), these.count()); });
      } else {
        these.eachRun([&](int64_t k, int64_t at) {
          multiplyRow(out + at, in + at, scales[static_cast<size_t>(k)], these.inner);
        });
      }
    });
  }
};

template <class C>
struct WeightNormBackward {
  void operator()(const WeightNormBackwardArgs& args, orKernelContext& context) const {
    forEachVector(args, context, [](const WeightNormBackwardArgs& args, const Vectors& these) {
      const C* grad = static_cast<const C*>(args.gradOutput);
      const C* in = static_cast<const C*>(args.direction);
      C* out = static_cast<C*>(args.gradDirection);
      const auto products = these.products(grad, in);
      // The part of the gradient along the direction changes nothing: the length is another parameter.
      std::vector<C> along(products.size());
      std::vector<C> scales(products.size());
      for (size_t k = 0; k < scales.size(); ++k) {
        const size_t at = static_cast<size_t>(these.begin) + k;
        const C norm = static_cast<const C*>(args.norms)[at];
        const C gradLength = static_cast<C>(products[k] / norm);
        static_cast<C*>(args.gradLength)[at] = gradLength;
        along[k] = gradLength / norm;
        scales[k] = static_cast<const C*>(args.length)[at] / norm;
      }
      if (these.inner == 1) {
        these.eachSide(
            [&](int64_t at) { takeOff(out + at, grad + at, in + at, along.data(), scales.data(), these.count()); });
      } else {
        these.eachRun([&](int64_t k, int64_t at) {
          const auto i = static_cast<size_t>(k);
          combineAndScale(out + at, grad + at, scales[i], in + at, C(0), -along[i], C(0), these.inner);
        });
      }
    });
  }
};

const RegisterTypes<"weight_norm", WeightNormArgs, WeightNorm, float, double> kWeightNorm;
const RegisterTypes<"weight_norm_backward", WeightNormBackwardArgs, WeightNormBackward, float, double>
    kWeightNormBackward;

} // namespace

} // namespace openreg::kernels
