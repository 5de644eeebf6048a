// The kernel "embedding_backward": each thread has rows of its own, so that none adds where another does, and the order
// of the additions is always the same.
#include "kernels/sequence/embedding.h"

#include <algorithm>

#include "kernels/loop/convert.h"
#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

/// Some rows, and all indices that there are.
class ByRow : public LoopOver<EmbeddingBackwardArgs> {
 public:
  using LoopOver::LoopOver;

  /// All threads read all indices: none gets fewer rows than are worth that.
  int64_t grain() const {
    const int64_t perRow = args_.columns * (1 + args_.count / std::max(int64_t{1}, args_.rows));
    return (kGrain + args_.count) / std::max(int64_t{1}, perRow) + 1;
  }
};

class CountLookups : public ByRow {
 public:
  using ByRow::ByRow;
  int64_t count() const { return args_.frequencies != nullptr ? args_.rows : 0; }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      args_.frequencies[row] = 0;
    }
    for (int64_t i = 0; i < args_.count; ++i) {
      const int64_t row = args_.indices[i];
      if (row >= begin && row < end) {
        ++args_.frequencies[row];
      }
    }
  }
};

template <class C>
class AddGradients : public ByRow {
 public:
  using ByRow::ByRow;
  int64_t count() const { return args_.rows; }
  void operator()(int64_t begin, int64_t end) const {
    const C* grad = static_cast<const C*>(args_.grad);
    C* result = static_cast<C*>(args_.result);
    clearSums(result + begin * args_.columns, (end - begin) * args_.columns);
    for (int64_t i = 0; i < args_.count; ++i) {
      const int64_t row = args_.indices[i];
      if (row < begin || row >= end || row == args_.paddingIndex) {
        continue;
      }
      const C scale = args_.frequencies != nullptr ? C(1) / convert<C>(args_.frequencies[row]) : C(1);
      addScaledRow(result + row * args_.columns, grad + i * args_.columns, scale, args_.columns);
    }
  }
};

template <Name name, class C>
using EmbeddingBackward = Phases<
    fullName<name, C>(),
    EmbeddingBackwardArgs,
    LoopKernel<EmbeddingBackwardArgs, CountLookups>,
    RowKernel<EmbeddingBackwardArgs, AddGradients<C>>>;

template <Name name, class... C>
class EmbeddingBackwardOf : public EmbeddingBackward<name, C>... {};

const EmbeddingBackwardOf<"embedding_backward", int64_t, float, double, Complex<float>, Complex<double>> kBackward;

} // namespace

} // namespace openreg::kernels
