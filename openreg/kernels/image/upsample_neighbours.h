// Which neighbours upsampling makes an element of, along one dimension.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "kernels/image/upsample.h"

namespace openreg::kernels {

// Source indices are computed in float, and in double for doubles: as PyTorch does, so that the same elements are
// found.
template <class C>
using UpsampleReal = std::conditional_t<std::is_same_v<C, double>, double, float>;

/// An element of a result is a weighted sum of some elements of an image.
template <class C>
class UpsampleNeighbours {
  using R = UpsampleReal<C>;

 public:
  UpsampleNeighbours(const UpsampleArgs& args, int dimension)
      : args_(args), image_(args.imageSize[dimension]), result_(args.resultSize[dimension]),
        factor_(args.factor[dimension]) {}

  int64_t image() const { return image_; }
  int64_t result() const { return result_; }

  /// Calls `use(neighbour, weight)` for each neighbour of an element of the result.
  template <class Use>
  void forEach(int64_t at, Use use) const {
    const auto add = [&](int64_t neighbour, R weight) {
      use(std::clamp(neighbour, int64_t{0}, image_ - 1), static_cast<C>(weight));
    };
    if (image_ == 1) {
      return add(0, R(1));
    }
    switch (args_.interpolation) {
      case Interpolation::Nearest:
        return nearest(at, add);
      case Interpolation::NearestExact:
        return add(static_cast<int64_t>(std::floor((static_cast<double>(at) + 0.5) * scale<float>())), R(1));
      case Interpolation::Linear:
        return linear(at, add);
      case Interpolation::Cubic:
        return cubic(at, add);
      case Interpolation::LinearAntialias:
        return filtered(at, 2, [](R x) { return x < R(1) ? R(1) - x : R(0); }, add);
      case Interpolation::CubicAntialias:
        return filtered(at, 4, [](R x) { return cubicShare(x, R(-0.5)); }, add);
      case Interpolation::LanczosAntialias:
        return filtered(at, 6, [](R x) { return x < R(3) ? sinc(x) * sinc(x / R(3)) : R(0); }, add);
    }
  }

 private:
  /// Elements of the image for one of the result.
  template <class T>
  T scale() const {
    return factor_ > 0 ? static_cast<T>(1.0 / factor_) : static_cast<T>(image_) / static_cast<T>(result_);
  }
  template <class T>
  T alignedScale() const {
    if (args_.alignCorners == 0) {
      return scale<T>();
    }
    return result_ > 1 ? static_cast<T>(image_ - 1) / static_cast<T>(result_ - 1) : T(0);
  }
  /// Where in the image an element of the result lies.
  R source(int64_t at) const {
    const R scale = alignedScale<R>();
    return args_.alignCorners != 0 ? scale * static_cast<R>(at) : scale * (static_cast<R>(at) + R(0.5)) - R(0.5);
  }

  template <class Add>
  void nearest(int64_t at, const Add& add) const {
    if (result_ == image_ || result_ == 2 * image_) { // exactly, whatever the factor says
      return add(at * image_ / result_, R(1));
    }
    add(static_cast<int64_t>(std::floor(static_cast<float>(at) * scale<float>())), R(1));
  }

  template <class Add>
  void linear(int64_t at, const Add& add) const {
    if (result_ == image_) {
      return add(at, R(1));
    }
    const R from = std::max(source(at), R(0));
    const int64_t left = std::min(static_cast<int64_t>(std::floor(from)), image_ - 1);
    const R share = std::clamp(from - static_cast<R>(left), R(0), R(1));
    add(left, R(1) - share);
    add(left + 1, share);
  }

  template <class Add>
  void cubic(int64_t at, const Add& add) const {
    const R from = source(at);
    const R left = std::floor(from);
    for (int64_t i = -1; i <= 2; ++i) {
      add(static_cast<int64_t>(left) + i, cubicShare(std::abs(from - left - static_cast<R>(i)), R(-0.75)));
    }
  }

  /// A filter as wide as what the result leaves out, so that fine patterns become grey instead of coarse patterns.
  template <class Filter, class Add>
  void filtered(int64_t at, int size, Filter filter, const Add& add) const {
    const R scale = alignedScale<R>();
    const R stretch = std::max(scale, R(1));
    const R support = static_cast<R>(size) * R(0.5) * stretch;
    const R center = scale * (static_cast<R>(at) + R(0.5));
    const int64_t begin = std::max(static_cast<int64_t>(center - support + R(0.5)), int64_t{0});
    const int64_t end = std::min(static_cast<int64_t>(center + support + R(0.5)), image_);
    const auto weightOf = [&](int64_t i) { return filter(std::abs((static_cast<R>(i) - center + R(0.5)) / stretch)); };
    R total(0);
    for (int64_t i = begin; i < end; ++i) {
      total += weightOf(i);
    }
    for (int64_t i = begin; i < end; ++i) {
      const R weight = weightOf(i);
      add(i, total != R(0) ? weight / total : weight);
    }
    if (end <= begin) { // a factor that leads out of the image
      add(begin, R(0));
    }
  }

  /// Keys' cubic convolution.
  static R cubicShare(R x, R a) {
    if (x < R(1)) {
      return ((a + R(2)) * x - (a + R(3))) * x * x + R(1);
    }
    return x < R(2) ? ((a * x - R(5) * a) * x + R(8) * a) * x - R(4) * a : R(0);
  }
  static R sinc(R x) {
    const R angle = x * std::numbers::pi_v<R>;
    return x == R(0) ? R(1) : std::sin(angle) / angle;
  }

  const UpsampleArgs& args_;
  int64_t image_;
  int64_t result_;
  double factor_;
};

} // namespace openreg::kernels
