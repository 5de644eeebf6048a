// The kernel "embedding_backward": each thread has rows of its own, so that none adds where another does, and the order
// of the additions is always the same.
#include "kernels/sequence/embedding.h"

#include <algorithm>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/element.h"
#include "kernels/loop/ivdep.h"

namespace openreg::kernels {

namespace {

template <class C>
struct EmbeddingBackward {
  void operator()(const EmbeddingBackwardArgs& args, orKernelContext& context) const {
    // All threads read all indices: none gets fewer rows than are worth that.
    const int64_t perRow = args.columns * (1 + args.count / std::max(int64_t{1}, args.rows));
    const int64_t grain = (kGrain + args.count) / std::max(int64_t{1}, perRow) + 1;
    context.parallelFor(
        &context, args.rows, grain,
        [](void* state, int64_t begin, int64_t end) {
          rows(*static_cast<const EmbeddingBackwardArgs*>(state), begin, end);
        },
        const_cast<EmbeddingBackwardArgs*>(&args));
  }

 private:
  static void rows(const EmbeddingBackwardArgs& args, int64_t begin, int64_t end) {
    const C* grad = static_cast<const C*>(args.grad);
    C* result = static_cast<C*>(args.result);
    std::fill(result + begin * args.columns, result + end * args.columns, C(0));
    std::vector<int64_t> counts(static_cast<size_t>(args.scaleByFrequency != 0 ? end - begin : 0));
    for (int64_t i = 0; i < args.count && !counts.empty(); ++i) {
      if (args.indices[i] >= begin && args.indices[i] < end) {
        ++counts[static_cast<size_t>(args.indices[i] - begin)];
      }
    }
    for (int64_t i = 0; i < args.count; ++i) {
      const int64_t row = args.indices[i];
      if (row < begin || row >= end || row == args.paddingIndex) {
        continue;
      }
      const C scale = counts.empty() ? C(1) : C(1) / convert<C>(counts[static_cast<size_t>(row - begin)]);
      const C* from = grad + i * args.columns;
      C* to = result + row * args.columns;
      OPENREG_IVDEP
      for (int64_t j = 0; j < args.columns; ++j) {
        to[j] += from[j] * scale;
      }
    }
  }
};

const RegisterTypes<
    "embedding_backward",
    EmbeddingBackwardArgs,
    EmbeddingBackward,
    int64_t,
    float,
    double,
    Complex<float>,
    Complex<double>>
    kBackward;

} // namespace

} // namespace openreg::kernels
