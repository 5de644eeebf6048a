// The kernels "upsample" and "upsample_backward". Every interpolation is done by dimensions: along each, an element of
// the result is a weighted sum of some neighbours. These are found once, for all planes.
#include "kernels/image/upsample.h"

#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// A neighbour and its share.
template <class C>
struct Tap {
  int64_t at;
  C weight;
};

// Source indices are computed in float, and in double for doubles: as PyTorch does, so that the same elements are
// found.
template <class C>
using Real = std::conditional_t<std::is_same_v<C, double>, double, float>;

/// The neighbours of each element along one dimension.
template <class C>
class Taps {
  using R = Real<C>;

 public:
  Taps(const UpsampleArgs& args, int dimension)
      : args_(args), image_(args.imageSize[dimension]), result_(args.resultSize[dimension]),
        factor_(args.factor[dimension]) {
    for (int64_t at = 0; at < result_; ++at) {
      first_.push_back(static_cast<int64_t>(taps_.size()));
      append(at);
    }
    first_.push_back(static_cast<int64_t>(taps_.size()));
  }

  const Tap<C>* begin(int64_t at) const { return taps_.data() + first_[static_cast<size_t>(at)]; }
  const Tap<C>* end(int64_t at) const { return begin(at + 1); }

  /// Whether each element has one neighbour.
  bool single() const { return static_cast<int64_t>(taps_.size()) == result_; }

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
  std::vector<Tap<C>> taps_;
  std::vector<int64_t> first_; ///< Where in `taps_` each element's start.
};

/// Calls `use(result, image, weight)` for each pair of elements of a row of the result and a row of the image.
template <class C, class Use>
void forEachPairOfRows(const Taps<C>& taps, int64_t count, int64_t to, int64_t from, C weight, Use use) {
  if (taps.single()) { // as of all that takes the nearest: a loop in which nothing is looked up
    const Tap<C>* tap = taps.begin(0);
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
void forEachPair(const UpsampleArgs& args, const Taps<C> (&taps)[3], Use use) {
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
struct Upsample {
  void operator()(const UpsampleArgs& args, orKernelContext& context) const {
    const Taps<C> taps[3] = {{args, 0}, {args, 1}, {args, 2}};
    forEachPlane(context, args.planes, product(args.resultSize), [&](int64_t plane) {
      const C* image = static_cast<const C*>(args.image) + plane * product(args.imageSize);
      C* result = static_cast<C*>(args.result) + plane * product(args.resultSize);
      std::fill_n(result, product(args.resultSize), C(-0.0)); // what a sum starts from that leaves a −0 as it is
      forEachPair(args, taps, [&](int64_t to, int64_t from, C weight) { result[to] += image[from] * weight; });
    });
  }
};

template <class C>
struct UpsampleBackward {
  void operator()(const UpsampleArgs& args, orKernelContext& context) const {
    const Taps<C> taps[3] = {{args, 0}, {args, 1}, {args, 2}};
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
