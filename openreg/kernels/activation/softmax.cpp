// The kernels "softmax.…", "log_softmax.…" and their derivatives, "…_backward.…".
#include "kernels/activation/softmax.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/math/vector_math.h"
#include "kernels/reduction/reduce.h"

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

/// exp(x - offset) * factor: a softmax, where the factor is 1 / the sum of them.
template <class C>
OPENREG_MULTIVERSION void scaledExp(int64_t count, C* x, C offset, C factor) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] = std::exp(x[i] - offset) * factor;
  }
}

template <class C>
OPENREG_MULTIVERSION void multiply(int64_t count, C* x, const C* y) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] *= y[i];
  }
}

/// (grad - sum) * y: the derivative of softmax, whose result y is.
template <class C>
OPENREG_MULTIVERSION void deriveSoftmax(int64_t count, C* grad, const C* y, C sum) {
  for (int64_t i = 0; i < count; ++i) {
    grad[i] = (grad[i] - sum) * y[i];
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

/// The largest element, and the sum of exp(x - largest).
template <class C>
std::pair<C, C> largestAndSum(const Line& line, C* block) {
  const SoftmaxArgs& args = line.args;
  const Largest<C> largest;
  Lanes lanes(largest);
  line.read(args.input, args.inputType, block, [&](C* x, int64_t at, int64_t count) { lanes.add(x, count, at); });
  const SumOfExp<C> sumOfExp{lanes.join()};
  Lanes sums(sumOfExp);
  line.read(args.input, args.inputType, block, [&](C* x, int64_t at, int64_t count) { sums.add(x, count, at); });
  return {sumOfExp.offset, sums.join()};
}

template <class C>
void softmax(const Line& line) {
  const SoftmaxArgs& args = line.args;
  C block[kBlock];
  const auto [offset, sum] = largestAndSum(line, block);
  line.read(args.input, args.inputType, block, [&, offset = offset, sum = sum](C* x, int64_t at, int64_t count) {
    scaledExp(count, x, offset, C(1) / sum);
    line.write(at, count, x);
  });
}

template <class C>
void softmaxBackward(const Line& line) {
  const SoftmaxArgs& args = line.args;
  C block[kBlock];
  C result[kBlock];
  const PlainSum<C> plainSum;
  Lanes sums(plainSum);
  line.read(args.grad, args.gradType, block, [&](C* grad, int64_t at, int64_t count) {
    line.readPart(args.input, args.inputType, at, count, result);
    multiply(count, grad, result);
    sums.add(grad, count, at);
  });
  const C sum = sums.join();
  line.read(args.grad, args.gradType, block, [&](C* grad, int64_t at, int64_t count) {
    line.readPart(args.input, args.inputType, at, count, result);
    deriveSoftmax(count, grad, result, sum);
    line.write(at, count, grad);
  });
}

template <class C>
void logSoftmax(const Line& line) {
  const SoftmaxArgs& args = line.args;
  C block[kBlock];
  const auto [offset, sum] = largestAndSum(line, block);
  const C logOfSum = std::log(sum);
  line.read(args.input, args.inputType, block, [&, offset = offset](C* x, int64_t at, int64_t count) {
    subtract(count, x, offset);
    subtract(count, x, logOfSum);
    line.write(at, count, x);
  });
}

template <class C>
void logSoftmaxBackward(const Line& line) {
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
using Softmax = SoftmaxKernel<&softmax<C>>;
template <class C>
using SoftmaxBackward = SoftmaxKernel<&softmaxBackward<C>>;
template <class C>
using LogSoftmax = SoftmaxKernel<&logSoftmax<C>>;
template <class C>
using LogSoftmaxBackward = SoftmaxKernel<&logSoftmaxBackward<C>>;

const RegisterTypes<SoftmaxArgs, Softmax, float, double> kSoftmax("softmax");
const RegisterTypes<SoftmaxArgs, SoftmaxBackward, float, double> kSoftmaxBackward("softmax_backward");
const RegisterTypes<SoftmaxArgs, LogSoftmax, float, double> kLogSoftmax("log_softmax");
const RegisterTypes<SoftmaxArgs, LogSoftmaxBackward, float, double> kLogSoftmaxBackward("log_softmax_backward");

} // namespace

} // namespace openreg::kernels
