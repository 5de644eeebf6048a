// The kernel "split_heads".
#include "kernels/sequence/split_heads.h"

#include <algorithm>

#include "kernels/loop/ivdep.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// out = (x + bias) · scale
template <class C>
OPENREG_MULTIVERSION void addAndScale(C* out, const C* x, const C* bias, C scale, int64_t count) {
  OPENREG_IVDEP // Three arrays.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (x[i] + bias[i]) * scale;
  }
}

/// An element of the rows at a time, of those of one head together.
template <class C>
class SplitHeads : public LoopOver<SplitHeadsArgs> {
 public:
  explicit SplitHeads(const SplitHeadsArgs& args) : LoopOver(args), width_(3 * args.heads * args.size) {}
  int64_t count() const { return args_.batch * args_.length * width_; }
  void operator()(int64_t begin, int64_t end) const {
    const auto [rows, bias, out, batch, length, heads, size, scale] = args_;
    const int64_t row = begin / width_, column = begin % width_;
    int64_t sample = row / length, position = row % length;
    int64_t part = column / size / heads, head = column / size % heads, first = column % size;
    for (int64_t at = begin; at < end;) {
      const int64_t count = std::min(size - first, end - at);
      const int64_t to = (((part * batch + sample) * heads + head) * length + position) * size + first;
      addAndScale(
          static_cast<C*>(out) + to, static_cast<const C*>(rows) + at,
          static_cast<const C*>(bias) + (part * heads + head) * size + first, part == 0 ? static_cast<C>(scale) : C(1),
          count);
      at += count;
      first = 0;
      head = head + 1 == heads ? 0 : head + 1;
      part = head == 0 ? (part + 1) % 3 : part;
      position += head == 0 && part == 0 ? 1 : 0;
      if (position == length) {
        position = 0;
        ++sample;
      }
    }
  }

 private:
  int64_t width_; ///< Of a row.
};

const Loops<"split_heads", SplitHeadsArgs, SplitHeads, float, double> kSplitHeads;

} // namespace

} // namespace openreg::kernels
