// The kernels "bincount" and "histc.…".
#include "kernels/sorting/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

/// Parts of the input are counted side by side, each in bins of its own: two threads never write to one bin.
class Bincount {
 public:
  void operator()(const BincountArgs& args, orKernelContext& context) const {
    const int64_t parts = std::clamp<int64_t>(args.count / std::max(4 * args.bins, kGrain), 1, kMostParts);
    std::vector<int64_t> others(static_cast<size_t>((parts - 1) * args.bins)); // the first part has the output
    const auto binsOf = [&](int64_t part) { return part == 0 ? args.counts : others.data() + (part - 1) * args.bins; };
    std::fill_n(args.counts, args.bins, int64_t{0});
    forEachPlane(context, parts, args.count / parts, [&](int64_t part) {
      const int64_t* end = args.in + (part + 1) * args.count / parts;
      count(args.in + part * args.count / parts, end, binsOf(part), args.bins, context);
    });
    for (int64_t part = 1; part < parts; ++part) {
      const int64_t* from = binsOf(part);
      for (int64_t bin = 0; bin < args.bins; ++bin) {
        args.counts[bin] += from[bin];
      }
    }
  }

 private:
  static constexpr int64_t kMostParts = 16;

  static void count(const int64_t* in, const int64_t* end, int64_t* counts, int64_t bins, orKernelContext& context) {
    for (; in != end; ++in) {
      if (*in < 0 || *in >= bins) {
        return context.fail(&context, orErrorAssert, "bincount: a number has changed since the largest was looked for");
      }
      ++counts[*in];
    }
  }
};

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

const RegisterTypes<"histc", HistogramArgs, Histogram, float, double> kHistogram;
const Register<"bincount", BincountArgs, Bincount> kBincount;

} // namespace

} // namespace openreg::kernels
