// The kernels "embedding_bag" and "embedding_bag_factors".
#include "kernels/sequence/embedding_bag.h"

#include <algorithm>

#include "kernels/launch/error_text.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

bool isInRange(int64_t index, int64_t count, const char* ofWhat, orKernelContext& context) {
  const bool isIn = index >= 0 && index < count;
  if (!isIn) {
    const ErrorText text = ErrorText() << "index " << index << " is out of range: there are " << count << ofWhat;
    context.fail(&context, orErrorAssert, text.get());
  }
  return isIn;
}

template <class C>
class EmbeddingBag : public LoopOver<EmbeddingBagArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.bags; }
  int64_t grain() const { return grainOfRows(args_.columns * (1 + args_.count / std::max(int64_t{1}, args_.bags))); }
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    for (int64_t bag = begin; bag < end; ++bag) {
      if (args_.mode == BagMode::Max) {
        findLargest(bag, context);
      } else {
        addUp(bag, context);
      }
    }
  }

 private:
  const C* row(int64_t number) const { return static_cast<const C*>(args_.weight) + number * args_.columns; }
  C* output(int64_t bag) const { return static_cast<C*>(args_.output) + bag * args_.columns; }

  /// Calls `use(i, row)` for each index of a bag that counts, after it has noted whose they are. @return Their number.
  template <class Use>
  int64_t forIndices(int64_t bag, orKernelContext& context, Use use) const {
    int64_t used = 0;
    const int64_t end = bag + 1 < args_.bags ? args_.offsets[bag + 1] : args_.count;
    for (int64_t i = args_.offsets[bag]; i < end; ++i) {
      const int64_t number = args_.indices[i];
      if (i + 1 < end) { // rows lie anywhere: the next one is on its way while this one is added
        prefetchRow(row(args_.indices[i + 1]), args_.columns);
      }
      onceARow([&] { args_.bagOf[i] = bag; });
      if (!isInRange(number, args_.rows, " rows", context)) {
        return used;
      }
      if (number != args_.paddingIndex) {
        use(i, row(number), used++);
      }
    }
    onceARow([&] { args_.sizes[bag] = used; });
    return used;
  }

  void addUp(int64_t bag, orKernelContext& context) const {
    C* out = output(bag);
    clearSums(out, args_.columns);
    const int64_t used = forIndices(bag, context, [&](int64_t i, const C* row, int64_t) {
      const C factor = args_.factors != nullptr ? static_cast<const C*>(args_.factors)[i] : C(1);
      addScaledRow(out, row, factor, args_.columns);
    });
    if (args_.mode == BagMode::Mean && used > 0) {
      forEachOfRow(args_.columns, [&](int64_t j) { out[j] /= static_cast<C>(used); });
    }
  }

  void findLargest(int64_t bag, orKernelContext& context) const {
    C* out = output(bag);
    int64_t* largest = args_.largest + bag * args_.columns;
    forEachOfRow(args_.columns, [&](int64_t j) {
      out[j] = C(0);
      largest[j] = -1;
    });
    forIndices(bag, context, [&](int64_t i, const C* row, int64_t before) {
      forEachOfRow(args_.columns, [&](int64_t j) {
        if (before == 0 || row[j] > out[j]) {
          out[j] = row[j];
          largest[j] = args_.indices[i];
        }
      });
    });
  }
};

/// Each factor's derivative is the product of its row and its bag's gradient.
template <class C>
class EmbeddingBagFactors : public LoopOver<EmbeddingBagArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.count; }
  int64_t grain() const { return grainOfRows(args_.columns); }
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = args_.indices[i], bag = args_.bagOf[i];
      if (!isInRange(row, args_.rows, " rows", context) || !isInRange(bag, args_.bags, " bags", context)) {
        continue;
      }
      const C* weight = static_cast<const C*>(args_.weight) + row * args_.columns;
      const C* grad = static_cast<const C*>(args_.output) + bag * args_.columns;
      const C product = row == args_.paddingIndex ? C(0) : dot(args_.columns, weight, grad);
      onceARow([&] { static_cast<C*>(args_.factors)[i] = product; });
    }
  }
};

const RowLoops<"embedding_bag", EmbeddingBagArgs, EmbeddingBag, float, double> kForward;
const RowLoops<"embedding_bag_factors", EmbeddingBagArgs, EmbeddingBagFactors, float, double> kFactors;

} // namespace

} // namespace openreg::kernels
