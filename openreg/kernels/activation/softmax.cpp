// The kernels "softmax.…", "log_softmax.…" and their derivatives, "…_backward.…".
#include "kernels/activation/softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/loop/elementwise.h"
#include "kernels/math/vector_math.h"
#include "kernels/reduction/dot.h"
#include "kernels/reduction/reduce.h"

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

template <template <class> class F, class C>
C reduceRow(int64_t count, const C* x) {
  return stateOfRun(F<C>(), x, count, 0);
}

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

/// One thread's room for the elements of a line: made when first asked for.
template <class C>
class Room {
 public:
  C* of(int64_t count) {
    elements_.resize(std::max(elements_.size(), static_cast<size_t>(count)));
    return elements_.data();
  }

 private:
  std::vector<C> elements_;
};

/// One of outer × inner softmaxes: `size` elements, `inner` apart. As arrays of the compute type, in place if they lie
/// in memory as such.
template <class C>
class Line {
 public:
  struct Rooms {
    Room<C> input, grad, result;
  };

  Line(const SoftmaxArgs& softmax, int64_t line, Rooms& rooms)
      : args_(softmax), first_(line / softmax.inner * softmax.size * softmax.inner + line % softmax.inner),
        rooms_(rooms) {}

  int64_t size() const { return args_.size; }
  const C* input() const { return read(args_.input, args_.inputType, rooms_.input); }
  const C* grad() const { return read(args_.grad, args_.gradType, rooms_.grad); }

  /// Where the result is to be written, before finish().
  C* result() const { return isArray(args_.resultType) ? static_cast<C*>(args_.result) + first_ : room(); }
  void finish() const {
    if (!isArray(args_.resultType)) {
      const int64_t size = elementSize(args_.resultType);
      store(args_.resultType, static_cast<char*>(args_.result) + first_ * size, args_.inner * size, args_.size, room());
    }
  }

 private:
  bool isArray(DType dtype) const { return args_.inner == 1 && dtype == kDTypeOf<C>; }
  C* room() const { return rooms_.result.of(args_.size); }

  const C* read(const void* data, DType dtype, Room<C>& converted) const {
    if (isArray(dtype)) {
      return static_cast<const C*>(data) + first_;
    }
    const int64_t size = elementSize(dtype);
    C* elements = converted.of(args_.size);
    load(dtype, static_cast<const char*>(data) + first_ * size, args_.inner * size, args_.size, elements);
    return elements;
  }

  const SoftmaxArgs& args_;
  int64_t first_; // number of its first element
  Rooms& rooms_;
};

template <class C>
void softmax(const Line<C>& line) {
  const C* x = line.input();
  C* y = line.result();
  apply(ExpFrom<C>{reduceRow<Largest>(line.size(), x)}, line.size(), y, x);
  apply(Scale<C>{C(1) / reduceRow<PlainSum>(line.size(), y)}, line.size(), y, y);
}

template <class C>
void softmaxBackward(const Line<C>& line) {
  const C* grad = line.grad();
  const C* y = line.input();
  apply(DeriveSoftmax<C>{dot(line.size(), grad, y)}, line.size(), line.result(), grad, y);
}

template <class C>
void logSoftmax(const Line<C>& line) {
  const C* x = line.input();
  const ExpFrom<C> expFrom{reduceRow<Largest>(line.size(), x)};
  C sum = 0;
  C powers[kBlock];
  for (int64_t at = 0; at < line.size(); at += kBlock) {
    const int64_t count = std::min(kBlock, line.size() - at);
    apply(expFrom, count, powers, x + at);
    sum += stateOfRun(PlainSum<C>(), powers, count, at);
  }
  apply(SubtractBoth<C>{expFrom.offset, std::log(sum)}, line.size(), line.result(), x);
}

template <class C>
void logSoftmaxBackward(const Line<C>& line) {
  const C* grad = line.grad();
  apply(DeriveLogSoftmax<C>{reduceRow<PlainSum>(line.size(), grad)}, line.size(), line.result(), grad, line.input());
}

template <class C, auto function>
struct SoftmaxKernel {
  void operator()(const SoftmaxArgs& args, orKernelContext& context) const {
    context.parallelFor(
        &context, args.outer * args.inner, kGrain / 4 / std::max(int64_t{1}, args.size) + 1,
        [](void* state, int64_t begin, int64_t end) {
          typename Line<C>::Rooms rooms;
          for (int64_t number = begin; number < end; ++number) {
            const Line<C> line(*static_cast<const SoftmaxArgs*>(state), number, rooms);
            function(line);
            line.finish();
          }
        },
        const_cast<SoftmaxArgs*>(&args));
  }
};
template <class C>
using Softmax = SoftmaxKernel<C, &softmax<C>>;
template <class C>
using SoftmaxBackward = SoftmaxKernel<C, &softmaxBackward<C>>;
template <class C>
using LogSoftmax = SoftmaxKernel<C, &logSoftmax<C>>;
template <class C>
using LogSoftmaxBackward = SoftmaxKernel<C, &logSoftmaxBackward<C>>;

const RegisterTypes<"softmax", SoftmaxArgs, Softmax, float, double> kSoftmax;
const RegisterTypes<"softmax_backward", SoftmaxArgs, SoftmaxBackward, float, double> kSoftmaxBackward;
const RegisterTypes<"log_softmax", SoftmaxArgs, LogSoftmax, float, double> kLogSoftmax;
const RegisterTypes<"log_softmax_backward", SoftmaxArgs, LogSoftmaxBackward, float, double> kLogSoftmaxBackward;

} // namespace

} // namespace openreg::kernels
