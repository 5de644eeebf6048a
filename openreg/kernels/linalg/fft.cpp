// The kernel "fft": computes in double, whatever the types in memory.
#include "kernels/linalg/fft.h"

#include <algorithm>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/linalg/fourier.h"
#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// Numbers of several rows that lie one after the other, put side by side.
OPENREG_MULTIVERSION void interleave(const Fourier::Number* rows, int64_t size, Fourier::Numbers* to) {
  for (int64_t i = 0; i < size; ++i) {
    for (int k = 0; k < kFourierRows; ++k) {
      to[i].real[k] = rows[k * size + i].real();
      to[i].imag[k] = rows[k * size + i].imag();
    }
  }
}

/// The way back, times a factor.
OPENREG_MULTIVERSION void separate(const Fourier::Numbers* from, int64_t size, double factor, Fourier::Number* rows) {
  for (int64_t i = 0; i < size; ++i) {
    for (int k = 0; k < kFourierRows; ++k) {
      rows[k * size + i] = {from[i].real[k] * factor, from[i].imag[k] * factor};
    }
  }
}

struct Fft {
  struct Loop {
    const FftArgs& args;
    const Fourier& fourier;
  };

  void operator()(const FftArgs& args, orKernelContext& context) const {
    const Fourier fourier(args.size, args.inverse != 0);
    Loop loop{args, fourier};
    const int64_t rows = args.outer * args.inner;
    context.parallelFor(
        &context, (rows + kFourierRows - 1) / kFourierRows, std::max(int64_t{1}, kGrain / 8 / kFourierRows / args.size),
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, fourier] = *static_cast<Loop*>(state);
          std::vector<Fourier::Numbers> in(static_cast<size_t>(args.size));
          std::vector<Fourier::Numbers> out(in.size());
          std::vector<Fourier::Number> rows(in.size() * kFourierRows);
          const auto row = [&](int64_t k) { return rows.data() + k * args.size; };
          const int64_t last = std::min(end * kFourierRows, args.outer * args.inner);
          for (int64_t first = begin * kFourierRows; first < last; first += kFourierRows) {
            const int64_t count = std::min(int64_t{kFourierRows}, last - first);
            for (int64_t k = 0; k < count; ++k) {
              get(args, first + k, row(k));
            }
            interleave(rows.data(), args.size, in.data());
            fourier.transform(in.data(), out.data());
            separate(out.data(), args.size, args.scale, rows.data());
            for (int64_t k = 0; k < count; ++k) {
              put(args, first + k, row(k));
            }
          }
        },
        &loop);
  }

  static int64_t offset(const FftArgs& args, int64_t row, int64_t size) {
    return row / args.inner * size * args.inner + row % args.inner;
  }

  static void get(const FftArgs& args, int64_t row, Fourier::Number* to) {
    const int64_t bytes = elementSize(args.inType);
    const auto* from = static_cast<const char*>(args.in) + offset(args, row, args.inSize) * bytes;
    const int64_t given = std::min(args.inSize, args.size);
    load(args.inType, from, args.inner * bytes, given, to);
    for (int64_t i = given; i < args.size; ++i) {
      to[i] = std::conj(to[args.size - i]);
    }
  }

  static void put(const FftArgs& args, int64_t row, const Fourier::Number* from) {
    const int64_t bytes = elementSize(args.outType);
    auto* to = static_cast<char*>(args.out) + offset(args, row, args.outSize) * bytes;
    store(args.outType, to, args.inner * bytes, args.outSize, from);
  }
};

const Register<FftArgs> kFft("fft", Fft{});

} // namespace

} // namespace openreg::kernels
