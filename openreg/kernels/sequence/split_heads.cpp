// The kernel "split_heads".
#include "kernels/sequence/split_heads.h"

#include "kernels/image/planes.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// One row, a head of a part at a time. @param head From one head of the result to the next. @param part The same.
template <class C>
OPENREG_MULTIVERSION void
splitRow(const SplitHeadsArgs& args, const C* row, const C* bias, C* out, int64_t head, int64_t part) {
  const int64_t size = args.size;
  for (int64_t i = 0; i < 3 * args.heads; ++i) {
    const C scale = i < args.heads ? static_cast<C>(args.scale) : C(1);
    C* to = out + i / args.heads * part + i % args.heads * head;
    OPENREG_IVDEP // Three arrays.
    for (int64_t j = 0; j < size; ++j) {
      to[j] = (row[i * size + j] + bias[i * size + j]) * scale;
    }
  }
}

template <class C>
struct SplitHeads {
  void operator()(const SplitHeadsArgs& args, orKernelContext& context) const {
    const int64_t width = 3 * args.heads * args.size;
    const int64_t head = args.length * args.size;
    forEachPlane(context, args.batch * args.length, width, [&](int64_t row) {
      const int64_t sample = row / args.length, position = row % args.length;
      splitRow(
          args, static_cast<const C*>(args.rows) + row * width, static_cast<const C*>(args.bias),
          static_cast<C*>(args.out) + sample * args.heads * head + position * args.size, head,
          args.batch * args.heads * head);
    });
  }
};

const RegisterTypes<"split_heads", SplitHeadsArgs, SplitHeads, float, double> kSplitHeads;

} // namespace

} // namespace openreg::kernels
