// The kernels "log_softmax.…" and "log_softmax_backward.…".
#include "softmax.h"

#include <algorithm>
#include <limits>

#include "math.h"
#include "reduce.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Largest {
  C start() const { return -std::numeric_limits<C>::infinity(); }
  C step(C largest, C x, int64_t) const { return join(largest, x); }
  C join(C a, C b) const { return b > a || std::isnan(b) ? b : a; }
};

/// Sum of exp(x - offset): with the largest x as offset no exponential overflows.
template <class C>
struct SumOfExp {
  C offset;
  C start() const { return 0; }
  C step(C sum, C x, int64_t) const { return sum + std::exp(x - offset); }
  C join(C a, C b) const { return a + b; }
};

template <class C>
struct PlainSum {
  C start() const { return 0; }
  C step(C sum, C x, int64_t) const { return sum + x; }
  C join(C a, C b) const { return a + b; }
};

template <class C>
OPENREG_MULTIVERSION void subtract(int64_t count, C* x, C offset) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] -= offset;
  }
}

/// grad - exp(y) * sum: the derivative of log_softmax, whose result y is.
template <class C>
OPENREG_MULTIVERSION void derive(int64_t count, C* grad, const C* y, C sum) {
  for (int64_t i = 0; i < count; ++i) {
    grad[i] -= std::exp(y[i]) * sum;
  }
}

/// One of outer × inner softmaxes: `size` elements, `inner` apart.
struct Line {
  const SoftmaxArgs& args;
  int64_t first; ///< Number of its first element.

  Line(const SoftmaxArgs& softmax, int64_t line)
      : args(softmax), first(line / softmax.inner * softmax.size * softmax.inner + line % softmax.inner) {}

  /// Calls `use(block, at, count)` for pieces of an operand of the line.
  template <class C, class Use>
  void read(const void* data, DType dtype, C* block, Use use) const {
    for (int64_t at = 0; at < args.size; at += kBlock) {
      const int64_t count = std::min(kBlock, args.size - at);
      readPart(data, dtype, at, count, block);
      use(block, at, count);
    }
  }
  template <class C>
  void readPart(const void* data, DType dtype, int64_t at, int64_t count, C* block) const {
    const int64_t size = elementSize(dtype);
    const auto* from = static_cast<const char*>(data) + (first + at * args.inner) * size;
    load(dtype, from, args.inner * size, count, block);
  }
  template <class C>
  void write(int64_t at, int64_t count, const C* block) const {
    const int64_t size = elementSize(args.resultType);
    auto* to = static_cast<char*>(args.result) + (first + at * args.inner) * size;
    store(args.resultType, to, args.inner * size, count, block);
  }
};

template <class C>
void forward(const Line& line) {
  const SoftmaxArgs& args = line.args;
  C block[kBlock];
  const Largest<C> largest;
  Lanes lanes(largest);
  line.read(args.input, args.inputType, block, [&](C* x, int64_t at, int64_t count) { lanes.add(x, count, at); });
  const SumOfExp<C> sumOfExp{lanes.join()};
  Lanes sums(sumOfExp);
  line.read(args.input, args.inputType, block, [&](C* x, int64_t at, int64_t count) { sums.add(x, count, at); });
  const C logOfSum = std::log(sums.join());
  line.read(args.input, args.inputType, block, [&](C* x, int64_t at, int64_t count) {
    subtract(count, x, sumOfExp.offset);
    subtract(count, x, logOfSum);
    line.write(at, count, x);
  });
}

template <class C>
void backward(const Line& line) {
  const SoftmaxArgs& args = line.args;
  C block[kBlock];
  C result[kBlock];
  const PlainSum<C> plainSum;
  Lanes sums(plainSum);
  line.read(args.grad, args.gradType, block, [&](C* grad, int64_t at, int64_t count) { sums.add(grad, count, at); });
  const C sum = sums.join();
  line.read(args.grad, args.gradType, block, [&](C* grad, int64_t at, int64_t count) {
    line.readPart(args.input, args.inputType, at, count, result);
    derive(count, grad, result, sum);
    line.write(at, count, grad);
  });
}

template <auto function>
struct SoftmaxKernel {
  void operator()(const SoftmaxArgs& args, orKernelContext& context) const {
    SoftmaxArgs loop = args;
    context.parallelFor(
        &context, args.outer * args.inner, kGrain / 4 / std::max(int64_t{1}, args.size) + 1,
        [](void* state, int64_t begin, int64_t end) {
          for (int64_t line = begin; line < end; ++line) {
            function(Line(*static_cast<const SoftmaxArgs*>(state), line));
          }
        },
        &loop);
  }
};
template <class C>
using Forward = SoftmaxKernel<&forward<C>>;
template <class C>
using Backward = SoftmaxKernel<&backward<C>>;

const RegisterTypes<SoftmaxArgs, Forward, float, double> kForward("log_softmax");
const RegisterTypes<SoftmaxArgs, Backward, float, double> kBackward("log_softmax_backward");

} // namespace

} // namespace openreg::kernels
