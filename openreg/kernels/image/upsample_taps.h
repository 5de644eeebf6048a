// What upsampling makes an element of: along each dimension, a weighted sum of some neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "kernels/image/upsample.h"

namespace openreg::kernels {

/// A neighbour and its share.
template <class C>
struct UpsampleTap {
  int64_t at;
  C weight;
};

// Source indices are computed in float, and in double for doubles: as PyTorch does, so that the same elements are
// found.
template <class C>
using UpsampleReal = std::conditional_t<std::is_same_v<C, double>, double, float>;

/// The neighbours of each element along one dimension.
template <class C>
class UpsampleTaps {
  using R = UpsampleReal<C>;

 public:
  UpsampleTaps(const UpsampleArgs& args, int dimension)
      : args_(args), image_(args.imageSize[dimension]), result_(args.resultSize[dimension]),
        factor_(args.factor[dimension]) {
    for (int64_t at = 0; at < result_; ++at) {
      first_.push_back(static_cast<int64_t>(taps_.size()));
      append(at);
    }
    first_.push_back(static_cast<int64_t>(taps_.size()));
    describe();
  }

  /// What a gradient is made of: for each element of the image, those of the result that took a share of it. Here the
  /// result's gradient is resampled, and the image's comes out; one of which nobody took a share has no neighbours.
  UpsampleTaps transposed() const {
    std::vector<std::vector<UpsampleTap<C>>> takers(static_cast<size_t>(image_));
    for (int64_t at = 0; at < result_; ++at) {
      for (const auto* tap = begin(at); tap != end(at); ++tap) {
        takers[static_cast<size_t>(tap->at)].push_back({at, tap->weight});
      }
    }
    UpsampleTaps found(args_, result_, image_, factor_);
    for (const auto& taps : takers) {
      found.first_.push_back(static_cast<int64_t>(found.taps_.size()));
      found.taps_.insert(found.taps_.end(), taps.begin(), taps.end());
    }
    found.first_.push_back(static_cast<int64_t>(found.taps_.size()));
    found.describe();
    return found;
  }

  int64_t image() const { return image_; }
  int64_t result() const { return result_; }
  const UpsampleTap<C>* begin(int64_t at) const { return taps_.data() + first_[static_cast<size_t>(at)]; }
  const UpsampleTap<C>* end(int64_t at) const { return begin(at + 1); }

  /// How many neighbours each element has; 0 if they don't have the same number.
  int count() const { return count_; }
  /// Whether each element is one of the image's,
  bool copies() const { return copies_; }
  /// and even the same.
  bool same() const { return same_; }

 private:
  UpsampleTaps(const UpsampleArgs& args, int64_t image, int64_t result, double factor)
      : args_(args), image_(image), result_(result), factor_(factor) {}

  void describe() {
    same_ = image_ == result_;
    for (int64_t at = 0; at < result_; ++at) {
      const auto count = static_cast<int>(end(at) - begin(at));
      count_ = at == 0 || count == count_ ? count : 0;
      copies_ = copies_ && count == 1 && begin(at)->weight == C(1);
      same_ = same_ && copies_ && begin(at)->at == at;
    }
  }

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

  void append(int64_t at) {
    if (image_ == 1) {
      return add(0, R(1));
    }
    switch (args_.interpolation) {
      case Interpolation::Nearest:
        return appendNearest(at);
      case Interpolation::NearestExact:
        return add(static_cast<int64_t>(std::floor((static_cast<double>(at) + 0.5) * scale<float>())), R(1));
      case Interpolation::Linear:
        return appendLinear(at);
      case Interpolation::Cubic:
        return appendCubic(at);
      case Interpolation::LinearAntialias:
        return appendFiltered(at, 2, [](R x) { return x < R(1) ? R(1) - x : R(0); });
      case Interpolation::CubicAntialias:
        return appendFiltered(at, 4, [](R x) { return cubic(x, R(-0.5)); });
      case Interpolation::LanczosAntialias:
        return appendFiltered(at, 6, [](R x) { return x < R(3) ? sinc(x) * sinc(x / R(3)) : R(0); });
    }
  }

  void add(int64_t at, R weight) { taps_.push_back({std::clamp(at, int64_t{0}, image_ - 1), static_cast<C>(weight)}); }

  void appendNearest(int64_t at) {
    if (result_ == image_ || result_ == 2 * image_) { // exactly, whatever the factor says
      return add(at * image_ / result_, R(1));
    }
    add(static_cast<int64_t>(std::floor(static_cast<float>(at) * scale<float>())), R(1));
  }

  void appendLinear(int64_t at) {
    if (result_ == image_) {
      return add(at, R(1));
    }
    const R from = std::max(source(at), R(0));
    const int64_t left = std::min(static_cast<int64_t>(std::floor(from)), image_ - 1);
    const R share = std::clamp(from - static_cast<R>(left), R(0), R(1));
    add(left, R(1) - share);
    add(left + 1, share);
  }

  void appendCubic(int64_t at) {
    const R from = source(at);
    const R left = std::floor(from);
    for (int64_t i = -1; i <= 2; ++i) {
      add(static_cast<int64_t>(left) + i, cubic(std::abs(from - left - static_cast<R>(i)), R(-0.75)));
    }
  }

  /// A filter as wide as what the result leaves out, so that fine patterns become grey instead of coarse patterns.
  template <class Filter>
  void appendFiltered(int64_t at, int size, Filter filter) {
    const R scale = alignedScale<R>();
    const R stretch = std::max(scale, R(1));
    const R support = static_cast<R>(size) * R(0.5) * stretch;
    const R center = scale * (static_cast<R>(at) + R(0.5));
    const int64_t begin = std::max(static_cast<int64_t>(center - support + R(0.5)), int64_t{0});
    const int64_t end = std::min(static_cast<int64_t>(center + support + R(0.5)), image_);
    R total(0);
    const size_t before = taps_.size();
    for (int64_t i = begin; i < end; ++i) {
      const R weight = filter(std::abs((static_cast<R>(i) - center + R(0.5)) / stretch));
      total += weight;
      add(i, weight);
    }
    for (size_t i = before; i < taps_.size() && total != R(0); ++i) {
      taps_[i].weight = static_cast<C>(static_cast<R>(taps_[i].weight) / total);
    }
    if (taps_.size() == before) { // a factor that leads out of the image
      add(begin, R(0));
    }
  }

  /// Keys' cubic convolution.
  static R cubic(R x, R a) {
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
  int count_ = 0;
  bool copies_ = true;
  bool same_ = false;
  std::vector<UpsampleTap<C>> taps_;
  std::vector<int64_t> first_; ///< Where in `taps_` each element's start.
};

} // namespace openreg::kernels
