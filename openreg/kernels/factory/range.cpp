// The kernels "arange.…", "linspace.…" and "logspace.…": evenly spaced numbers.
#include "kernels/factory/range.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class C>
C get(const unsigned char* bytes) {
  C value;
  std::memcpy(&value, bytes, sizeof(C));
  return value;
}

/// Calls `fill(first, count, block)` for the elements, a block at a time, and writes what is in the block then.
template <class C, class Fill>
void forEachBlock(const RangeArgs& args, orKernelContext& context, Fill fill) {
  struct Loop {
    const RangeArgs& args;
    const Fill& fill;
  } loop{args, fill};
  context.parallelFor(
      &context, args.count, kGrain,
      [](void* state, int64_t begin, int64_t end) {
        const auto& [args, fill] = *static_cast<const Loop*>(state);
        const int64_t size = elementSize(args.dtype);
        C block[kBlock];
        for (int64_t at = begin; at < end; at += kBlock) {
          const int64_t count = std::min(kBlock, end - at);
          fill(at, count, block);
          store(args.dtype, static_cast<char*>(args.out) + at * size, size, count, block);
        }
      },
      &loop);
}

/// Writes `value(i)` for each element i.
template <class C, class Value>
void forEachElement(const RangeArgs& args, orKernelContext& context, Value value) {
  forEachBlock<C>(args, context, [&](int64_t first, int64_t count, C* block) {
    for (int64_t i = 0; i < count; ++i) {
      block[i] = value(first + i);
    }
  });
}

template <class C>
OPENREG_MULTIVERSION void fillEvenly(C start, C step, int64_t first, int64_t count, C* block) {
  for (int64_t i = 0; i < count; ++i) {
    block[i] = start + C(first + i) * step;
  }
}

template <class C>
struct Arange {
  void operator()(const RangeArgs& args, orKernelContext& context) const {
    const C start = get<C>(args.start);
    const C step = get<C>(args.step);
    forEachBlock<C>(
        args, context, [=](int64_t first, int64_t count, C* block) { fillEvenly(start, step, first, count, block); });
  }
};

/// The numbers of linspace, from both ends, so that both come out exactly.
template <class C>
class Spaced {
  // Whole numbers lie between whole ends, but not a whole distance apart.
  using Step = std::conditional_t<std::is_same_v<C, int64_t>, double, C>;

 public:
  using Value = Step;

  explicit Spaced(const RangeArgs& args)
      : start_(get<C>(args.start)), end_(get<C>(args.end)), step_(
                                                                (static_cast<Step>(end_) - static_cast<Step>(start_)) /
                                                                convert<Step>(std::max(int64_t{1}, args.count - 1))),
        count_(args.count) {}

  Step at(int64_t i) const {
    return i < count_ / 2 || count_ == 1 ? static_cast<Step>(start_) + step_ * convert<Step>(i)
                                         : static_cast<Step>(end_) - step_ * convert<Step>(count_ - 1 - i);
  }

 private:
  C start_;
  C end_;
  Step step_;
  int64_t count_;
};

template <class C>
struct Linspace {
  void operator()(const RangeArgs& args, orKernelContext& context) const {
    const Spaced<C> numbers(args);
    forEachElement<C>(args, context, [&](int64_t i) { return convert<C>(numbers.at(i)); });
  }
};

template <class C>
struct Logspace {
  void operator()(const RangeArgs& args, orKernelContext& context) const {
    using Value = Spaced<C>::Value;
    const Spaced<C> numbers(args);
    const auto base = convert<Value>(args.base);
    forEachElement<C>(args, context, [&](int64_t i) { return convert<C>(std::pow(base, numbers.at(i))); });
  }
};

const RegisterTypes<RangeArgs, Arange, int64_t, double> kArange("arange");
const RegisterTypes<RangeArgs, Linspace, int64_t, float, double, Complex<float>, Complex<double>> kLinspace("linspace");
const RegisterTypes<RangeArgs, Logspace, int64_t, float, double, Complex<float>, Complex<double>> kLogspace("logspace");

} // namespace

} // namespace openreg::kernels
