// The kernel "repeat_interleave": counting, the other way round.
#include <algorithm>

#include "kernels/loop/loops.h"
#include "kernels/sorting/histogram.h"

namespace openreg::kernels {

namespace {

/// A number at a time, as often as it is to be repeated.
class RepeatInterleave : public LoopOver<RepeatArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.count; }
  int64_t grain() const { return grainOfRows(args_.size / std::max(int64_t{1}, args_.count)); }
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    for (int64_t number = begin; number < end; ++number) {
      const int64_t first = number == 0 ? 0 : args_.ends[number - 1];
      const int64_t last = args_.ends[number];
      if (first < 0 || last < first || last > args_.size) {
        return context.fail(&context, orErrorAssert, "repeats are negative, or more than output_size");
      }
      if (number == args_.count - 1 && last != args_.size) {
        return context.fail(&context, orErrorAssert, "repeats are fewer than output_size");
      }
      args_.narrow != 0 ? put<int32_t>(number, first, last) : put<int64_t>(number, first, last);
    }
  }

 private:
  template <class T>
  void put(int64_t number, int64_t first, int64_t last) const {
    T* out = static_cast<T*>(args_.out);
    std::fill(out + first, out + last, static_cast<T>(number));
  }
};

const Loop<"repeat_interleave", RepeatArgs, RepeatInterleave> kRepeat;

} // namespace

} // namespace openreg::kernels
