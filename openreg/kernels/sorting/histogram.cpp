// The kernels "histc.…" and "repeat_interleave".
#include "kernels/sorting/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Histogram {
  void operator()(const HistogramArgs& args, orKernelContext& context) const {
    const C* in = static_cast<const C*>(args.in);
    C* counts = static_cast<C*>(args.counts);
    C lower = static_cast<C>(args.lower);
    C upper = static_cast<C>(args.upper);
    if (lower == upper && args.count > 0) {
      for (int64_t i = 0; i < args.count; ++i) { // A NaN shows in the bounds.
        lower = i == 0 || !(in[i] >= lower) ? in[i] : lower;
        upper = i == 0 || !(in[i] <= upper) ? in[i] : upper;
      }
    }
    if (!std::isfinite(lower) || !std::isfinite(upper)) {
      char text[96];
      std::snprintf(
          text, sizeof(text), "torch.histc: range of [%g, %g] is not finite", static_cast<double>(lower),
          static_cast<double>(upper));
      return context.fail(&context, orErrorAssert, text);
    }
    if (lower == upper) {
      lower -= 1;
      upper += 1;
    }
    std::fill_n(counts, args.bins, C(0));
    for (int64_t i = 0; i < args.count; ++i) {
      if (in[i] >= lower && in[i] <= upper) {
        const auto bin = static_cast<int64_t>((in[i] - lower) * static_cast<C>(args.bins) / (upper - lower));
        counts[std::min(bin, args.bins - 1)] += 1;
      }
    }
  }
};

template <class T>
void repeat(const RepeatArgs& args, orKernelContext& context) {
  T* out = static_cast<T*>(args.out);
  int64_t at = 0;
  for (int64_t i = 0; i < args.count; ++i) {
    if (args.ends[i] < at || args.ends[i] > args.size) {
      return context.fail(&context, orErrorAssert, "repeats are negative, or more than output_size");
    }
    std::fill(out + at, out + args.ends[i], static_cast<T>(i));
    at = args.ends[i];
  }
  if (at != args.size) {
    context.fail(&context, orErrorAssert, "repeats are fewer than output_size");
  }
}

struct Repeat {
  void operator()(const RepeatArgs& args, orKernelContext& context) const {
    args.narrow != 0 ? repeat<int32_t>(args, context) : repeat<int64_t>(args, context);
  }
};

const RegisterTypes<HistogramArgs, Histogram, float, double> kHistogram("histc");
const Register<RepeatArgs> kRepeat("repeat_interleave", Repeat{});

} // namespace

} // namespace openreg::kernels
