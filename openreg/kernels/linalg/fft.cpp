// The kernel "fft": computes in double, whatever the types in memory.
#include "kernels/linalg/fft.h"

#include <algorithm>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/linalg/fourier.h"
#include "kernels/loop/block.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

struct Fft {
  struct Loop {
    const FftArgs& args;
    const Fourier& fourier;
  };

  void operator()(const FftArgs& args, orKernelContext& context) const {
    const Fourier fourier(args.size, args.inverse != 0);
    Loop loop{args, fourier};
    context.parallelFor(
        &context, args.outer * args.inner, std::max(int64_t{1}, kGrain / 8 / args.size),
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, fourier] = *static_cast<Loop*>(state);
          std::vector<Fourier::Number> in(static_cast<size_t>(args.size));
          std::vector<Fourier::Number> out(in.size());
          for (int64_t row = begin; row < end; ++row) {
            get(args, row, in);
            fourier.transform(in.data(), out.data());
            put(args, row, out);
          }
        },
        &loop);
  }

  static int64_t offset(const FftArgs& args, int64_t row, int64_t size) {
    return row / args.inner * size * args.inner + row % args.inner;
  }

  static void get(const FftArgs& args, int64_t row, std::vector<Fourier::Number>& to) {
    const int64_t bytes = elementSize(args.inType);
    const auto* from = static_cast<const char*>(args.in) + offset(args, row, args.inSize) * bytes;
    const int64_t given = std::min(args.inSize, args.size);
    load(args.inType, from, args.inner * bytes, given, to.data());
    for (int64_t i = given; i < args.size; ++i) {
      to[static_cast<size_t>(i)] = std::conj(to[static_cast<size_t>(args.size - i)]);
    }
  }

  static void put(const FftArgs& args, int64_t row, std::vector<Fourier::Number>& from) {
    for (auto& number : from) {
      number *= args.scale;
    }
    const int64_t bytes = elementSize(args.outType);
    auto* to = static_cast<char*>(args.out) + offset(args, row, args.outSize) * bytes;
    store(args.outType, to, args.inner * bytes, args.outSize, from.data());
  }
};

const Register<FftArgs> kFft("fft", Fft{});

} // namespace

} // namespace openreg::kernels
