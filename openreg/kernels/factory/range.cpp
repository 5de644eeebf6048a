// The kernels "arange.…", "linspace.…" and "logspace.…": evenly spaced numbers.
#include "kernels/factory/range.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class C>
C get(const unsigned char* bytes) {
  C value;
  std::memcpy(&value, bytes, sizeof(C));
  return value;
}

/// A loop over the elements, some at a time: `numbers.write(first, count, block)` says what they are.
template <class C, class Numbers>
class Range : public LoopOver<RangeArgs> {
 public:
  explicit Range(const RangeArgs& args) : LoopOver(args), numbers_(args) {}

  int64_t count() const { return args_.count; }

  void operator()(int64_t begin, int64_t end) const {
    const int64_t size = elementSize(args_.dtype);
    C block[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t count = std::min(kBlock, end - at);
      numbers_.write(at, count, block);
      store(args_.dtype, static_cast<char*>(args_.out) + at * size, size, count, block);
    }
  }

 private:
  const Numbers numbers_;
};

template <class C>
OPENREG_MULTIVERSION void fillEvenly(C start, C step, int64_t first, int64_t count, C* block) {
  for (int64_t i = 0; i < count; ++i) {
    block[i] = start + C(first + i) * step;
  }
}

template <class C>
struct EvenNumbers {
  C start;
  C step;
  explicit EvenNumbers(const RangeArgs& args) : start(get<C>(args.start)), step(get<C>(args.step)) {}
  void write(int64_t first, int64_t count, C* block) const { fillEvenly(start, step, first, count, block); }
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
struct SpacedNumbers : Spaced<C> {
  using Spaced<C>::Spaced;
  void write(int64_t first, int64_t count, C* block) const {
    for (int64_t i = 0; i < count; ++i) {
      block[i] = convert<C>(this->at(first + i));
    }
  }
};

template <class C>
struct SpacedPowers : Spaced<C> {
  Spaced<C>::Value base;
  explicit SpacedPowers(const RangeArgs& args) : Spaced<C>(args), base(convert<typename Spaced<C>::Value>(args.base)) {}
  void write(int64_t first, int64_t count, C* block) const {
    for (int64_t i = 0; i < count; ++i) {
      block[i] = convert<C>(std::pow(base, this->at(first + i)));
    }
  }
};

template <class C>
using Arange = Range<C, EvenNumbers<C>>;
template <class C>
using Linspace = Range<C, SpacedNumbers<C>>;
template <class C>
using Logspace = Range<C, SpacedPowers<C>>;

const Loops<"arange", RangeArgs, Arange, int64_t, double> kArange;
const Loops<"linspace", RangeArgs, Linspace, int64_t, float, double, Complex<float>, Complex<double>> kLinspace;
const Loops<"logspace", RangeArgs, Logspace, int64_t, float, double, Complex<float>, Complex<double>> kLogspace;

} // namespace

} // namespace openreg::kernels
