// The kernels "unfold_backward.…".
#include "kernels/indexing/unfold_backward.h"

#include <algorithm>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/reduction/accumulator.h"

namespace openreg::kernels {

namespace {

template <class C>
class UnfoldBackward : public LoopOver<UnfoldBackwardArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.outer * args_.size; }
  int64_t grain() const { return std::max(int64_t{1}, kGrain / (args_.inner * args_.window + 1)); }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t at = begin; at < end; ++at) {
      addWindows(args_, at / args_.size, at % args_.size);
    }
  }

 private:
  /// All windows that have an element.
  static void addWindows(const UnfoldBackwardArgs& args, int64_t outer, int64_t at) {
    const int64_t last = std::min(at / args.step, args.windows - 1);
    const int64_t first = at < args.window ? 0 : (at - args.window) / args.step + 1;
    const C* grad = static_cast<const C*>(args.grad) + outer * args.windows * args.inner * args.window;
    C* in = static_cast<C*>(args.in) + (outer * args.size + at) * args.inner;
    for (int64_t i = 0; i < args.inner; ++i) {
      Accumulator<C> sum(0);
      for (int64_t window = first; window <= last; ++window) {
        sum += Accumulator<C>(grad[(window * args.inner + i) * args.window + at - window * args.step]);
      }
      in[i] = C(sum);
    }
  }
};

const Loops<
    "unfold_backward",
    UnfoldBackwardArgs,
    UnfoldBackward,
    bool,
    int64_t,
    uint64_t,
    float,
    double,
    Complex<float>,
    Complex<double>>
    kUnfoldBackward;

} // namespace

} // namespace openreg::kernels
