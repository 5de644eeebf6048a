// The kernels "softmax.…", "log_softmax.…" and their derivatives, "…_backward.…".
#include "kernels/activation/softmax.h"

#include <algorithm>
#include <cmath>

#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Largest {
  C start() const { return -std::numeric_limits<C>::infinity(); }
  C step(C largest, C x, int64_t) const { return join(largest, x); }
  C join(C a, C b) const { return ((b > a) | (b != b)) ? b : a; }
};

template <class C>
struct PlainSum {
  C start() const { return 0; }
  C step(C sum, C x, int64_t) const { return sum + x; }
  C join(C a, C b) const { return a + b; }
};

// LITERALINCLUDE START: EXP UP TO 0
/// exp of a number up to 0, and 0 where that is no normal number: in a sum that is at least 1 it counts for nothing,
/// and the vector form of exp computes such elements one by one.
template <class C>
C expUpTo0(C x) {
  constexpr C kLowest = sizeof(C) == sizeof(float) ? C(-87.33) : C(-707);
  const C power = std::exp(x < kLowest ? kLowest : x);
  return x < kLowest ? C(0) : power;
}
// LITERALINCLUDE END: EXP UP TO 0

/// With the largest x as offset no exponential overflows.
template <class C>
struct ExpFrom {
  C offset;
  C operator()(C x) const { return expUpTo0(x - offset); }
};

template <class C>
struct Scale {
  C factor;
  C operator()(C x) const { return x * factor; }
};

/// One after the other: their sum may be as large as the differences between the x are small.
template <class C>
struct SubtractBoth {
  C first, second;
  C operator()(C x) const { return (x - first) - second; }
};

/// The derivative of softmax, whose result y is.
template <class C>
struct DeriveSoftmax {
  C sum;
  C operator()(C grad, C y) const { return (grad - sum) * y; }
};

/// The derivative of log_softmax, whose result y is.
template <class C>
struct DeriveLogSoftmax {
  C sum;
  C operator()(C grad, C y) const { return grad - expUpTo0(y) * sum; }
};

/// One of outer × inner softmaxes: `size` elements, `inner` apart.
template <class C>
class Line {
 public:
  struct Rooms {
    RowRoom<C> input, grad, result;
  };

  Line(const SoftmaxArgs& softmax, int64_t line, Rooms& rooms)
      : args_(softmax), first_(line / softmax.inner * softmax.size * softmax.inner + line % softmax.inner),
        rooms_(rooms) {}

  int64_t size() const { return args_.size; }
  auto input() const { return rooms_.input.read(row(args_.input, args_.inputType)); }
  auto grad() const { return rooms_.grad.read(row(args_.grad, args_.gradType)); }

  /// Where the result is to be written, before finish().
  auto result() const { return rooms_.result.write(row(args_.result, args_.resultType)); }
  void finish() const { rooms_.result.wrote(row(args_.result, args_.resultType)); }

 private:
  RowOfElements row(const void* data, DType dtype) const {
    const int64_t size = elementSize(dtype);
    return {static_cast<char*>(const_cast<void*>(data)) + first_ * size, dtype, args_.inner * size, args_.size};
  }

  const SoftmaxArgs& args_;
  int64_t first_; // number of its first element
  Rooms& rooms_;
};

// LITERALINCLUDE START: SOFTMAX ROW
template <class C>
void softmax(const Line<C>& line) {
  const auto x = line.input();
  const auto y = line.result();
  const auto powers = mapRow(ExpFrom<C>{reduceRow(Largest<C>(), line.size(), x)}, line.size(), y, x);
  apply(Scale<C>{C(1) / reduceRow(PlainSum<C>(), line.size(), powers)}, line.size(), y, powers);
}
// LITERALINCLUDE END: SOFTMAX ROW

template <class C>
void softmaxBackward(const Line<C>& line) {
  const auto grad = line.grad();
  const auto y = line.input();
  apply(DeriveSoftmax<C>{dot(line.size(), grad, y)}, line.size(), line.result(), grad, y);
}

template <class C>
void logSoftmax(const Line<C>& line) {
  const auto x = line.input();
  const ExpFrom<C> expFrom{reduceRow(Largest<C>(), line.size(), x)};
  const C sum = reduceMapped(PlainSum<C>(), expFrom, line.size(), x);
  apply(SubtractBoth<C>{expFrom.offset, std::log(sum)}, line.size(), line.result(), x);
}

template <class C>
void logSoftmaxBackward(const Line<C>& line) {
  const auto grad = line.grad();
  const C sum = reduceRow(PlainSum<C>(), line.size(), grad);
  apply(DeriveLogSoftmax<C>{sum}, line.size(), line.result(), grad, line.input());
}

template <class C, auto function>
class SoftmaxLoop : public LoopOver<SoftmaxArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.outer * args_.inner; }
  int64_t grain() const { return kGrain / 4 / std::max(int64_t{1}, args_.size) + 1; }
  void operator()(int64_t begin, int64_t end) const {
    typename Line<C>::Rooms rooms;
    for (int64_t number = begin; number < end; ++number) {
      const Line<C> line(args_, number, rooms);
      function(line);
      line.finish();
    }
  }
};
template <class C>
using Softmax = SoftmaxLoop<C, &softmax<C>>;
template <class C>
using SoftmaxBackward = SoftmaxLoop<C, &softmaxBackward<C>>;
template <class C>
using LogSoftmax = SoftmaxLoop<C, &logSoftmax<C>>;
template <class C>
using LogSoftmaxBackward = SoftmaxLoop<C, &logSoftmaxBackward<C>>;

const RowLoops<"softmax", SoftmaxArgs, Softmax, float, double> kSoftmax;
const RowLoops<"softmax_backward", SoftmaxArgs, SoftmaxBackward, float, double> kSoftmaxBackward;
const RowLoops<"log_softmax", SoftmaxArgs, LogSoftmax, float, double> kLogSoftmax;
const RowLoops<"log_softmax_backward", SoftmaxArgs, LogSoftmaxBackward, float, double> kLogSoftmaxBackward;

} // namespace

} // namespace openreg::kernels
