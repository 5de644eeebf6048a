// The kernel "fft": computes in double, whatever the types in memory.
#include "kernels/linalg/fft.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/linalg/real_fourier.h"
#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

using fourier::Number;
using fourier::Numbers;

/// The first `count` numbers of several rows, which begin `apart` from each other, put side by side.
OPENREG_MULTIVERSION void interleave(const Number* rows, int64_t apart, int64_t count, Numbers* to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < kFourierRows; ++k) {
      to[i].real[k] = rows[k * apart + i].real();
      to[i].imag[k] = rows[k * apart + i].imag();
    }
  }
}

/// The way back, times a factor.
OPENREG_MULTIVERSION void separate(const Numbers* from, int64_t count, double factor, Number* rows, int64_t apart) {
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < kFourierRows; ++k) {
      rows[k * apart + i] = {from[i].real[k] * factor, from[i].imag[k] * factor};
    }
  }
}

bool isReal(DType dtype) {
  return computeTypeOf(dtype) == ComputeType::Float || computeTypeOf(dtype) == ComputeType::Double;
}

/// How rows are transformed: as they are, or from or to real numbers by half as many complex ones.
struct Plan {
  bool fromPairs; ///< Whether the numbers that go in are pairs of real ones.
  bool toPairs;
  int64_t given; ///< Numbers of a row that go in.
  int64_t made;  ///< Numbers of a row that come out.
  std::function<void(Numbers* in, Numbers* out)> transform;
};

Plan makePlan(const FftArgs& args) {
  const bool inverse = args.inverse != 0;
  const int64_t half = args.size / 2;
  if (args.size % 2 == 0 && isReal(args.inType)) {
    return {true, false, half, half + 1, [fourier = RealFourier(args.size, inverse)](const Numbers* in, Numbers* out) {
              fourier.fromReal(in, out);
            }};
  }
  if (args.size % 2 == 0 && isReal(args.outType) && args.inSize == half + 1) {
    return {false, true, half + 1, half, [fourier = RealFourier(args.size, inverse)](Numbers* in, Numbers* out) {
              fourier.toReal(in, out);
            }};
  }
  return {false, false, args.size, args.size, [fourier = Fourier(args.size, inverse)](const Numbers* in, Numbers* out) {
            fourier.transform(in, out);
          }};
}

struct Fft {
  struct Loop {
    const FftArgs& args;
    const Plan& plan;
  };

  void operator()(const FftArgs& args, orKernelContext& context) const {
    const Plan plan = makePlan(args);
    Loop loop{args, plan};
    const int64_t rows = args.outer * args.inner;
    context.parallelFor(
        &context, (rows + kFourierRows - 1) / kFourierRows, std::max(int64_t{1}, kGrain / 8 / kFourierRows / args.size),
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, plan] = *static_cast<Loop*>(state);
          std::vector<Numbers> in(static_cast<size_t>(plan.given));
          std::vector<Numbers> out(static_cast<size_t>(plan.made));
          std::vector<Number> rows(static_cast<size_t>(args.size * kFourierRows));
          const auto row = [&](int64_t k) { return rows.data() + k * args.size; };
          const int64_t last = std::min(end * kFourierRows, args.outer * args.inner);
          for (int64_t first = begin * kFourierRows; first < last; first += kFourierRows) {
            const int64_t count = std::min(int64_t{kFourierRows}, last - first);
            for (int64_t k = 0; k < count; ++k) {
              get(args, plan, first + k, row(k));
            }
            interleave(rows.data(), args.size, plan.given, in.data());
            plan.transform(in.data(), out.data());
            separate(out.data(), plan.made, args.scale, rows.data(), args.size);
            for (int64_t k = 0; k < count; ++k) {
              put(args, plan, first + k, row(k));
            }
          }
        },
        &loop);
  }

  static int64_t offset(const FftArgs& args, int64_t row, int64_t size) {
    return row / args.inner * size * args.inner + row % args.inner;
  }

  static void get(const FftArgs& args, const Plan& plan, int64_t row, Number* to) {
    const int64_t bytes = elementSize(args.inType);
    const auto* from = static_cast<const char*>(args.in) + offset(args, row, args.inSize) * bytes;
    if (plan.fromPairs) {
      return load(args.inType, from, args.inner * bytes, args.size, reinterpret_cast<double*>(to));
    }
    const int64_t given = std::min(args.inSize, plan.given);
    load(args.inType, from, args.inner * bytes, given, to);
    for (int64_t i = given; i < plan.given; ++i) {
      to[i] = std::conj(to[args.size - i]);
    }
  }

  static void put(const FftArgs& args, const Plan& plan, int64_t row, Number* from) {
    const int64_t bytes = elementSize(args.outType);
    auto* to = static_cast<char*>(args.out) + offset(args, row, args.outSize) * bytes;
    if (plan.toPairs) {
      return store(args.outType, to, args.inner * bytes, args.outSize, reinterpret_cast<const double*>(from));
    }
    for (int64_t i = plan.made; i < args.outSize; ++i) {
      from[i] = {from[args.size - i].real(), 0 - from[args.size - i].imag()}; // 0, not −0, as the whole transform has
    }
    store(args.outType, to, args.inner * bytes, args.outSize, from);
  }
};

const Register<"fft", FftArgs, Fft> kFft;

} // namespace

} // namespace openreg::kernels
