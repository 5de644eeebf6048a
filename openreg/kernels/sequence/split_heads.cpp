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
class SplitHeads {
 public:
  static const char* refusal(const SplitHeadsArgs& /*args*/) { return nullptr; }
  explicit SplitHeads(const SplitHeadsArgs& args) : args_(args), width_(3 * args.heads * args.size) {}
  int64_t count() const { return args_.batch * args_.length * width_; }
  void operator()(int64_t begin, int64_t end) const {
    const auto& [rows, bias, out, batch, length, heads, size, scale] = args_;
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / width_, column = at % width_;
      const int64_t sample = row / length, position = row % length;
      const int64_t part = column / size / heads, head = column / size % heads, first = column % size;
      const int64_t count = std::min(size - first, end - at);
      const int64_t to = (((part * batch + sample) * heads + head) * length + position) * size + first;
      addAndScale(
          static_cast<C*>(out) + to, static_cast<const C*>(rows) + at, static_cast<const C*>(bias) + column,
          part == 0 ? static_cast<C>(scale) : C(1), count);
      at += count;
    }
  }

 private:
  const SplitHeadsArgs& args_;
  int64_t width_; ///< Of a row.
};

const Loops<"split_heads", SplitHeadsArgs, SplitHeads, float, double> kSplitHeads;

} // namespace

} // namespace openreg::kernels
