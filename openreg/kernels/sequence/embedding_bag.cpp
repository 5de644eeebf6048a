// The kernels "embedding_bag" and "embedding_bag_factors".
#include "kernels/sequence/embedding_bag.h"

#include <cstdio>

#include "kernels/image/planes.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"
#include "kernels/reduction/dot.h"

namespace openreg::kernels {

namespace {

template <class C>
OPENREG_MULTIVERSION void addRow(int64_t count, C* out, const C* row, C factor) {
  OPENREG_IVDEP // The weights and the output are apart.
  for (int64_t j = 0; j < count; ++j) {
    out[j] += row[j] * factor;
  }
}

bool isInRange(int64_t index, int64_t count, const char* ofWhat, orKernelContext& context) {
  const bool isIn = index >= 0 && index < count;
  if (!isIn) {
    char text[128];
    std::snprintf(
        text, sizeof(text), "index %lld is out of range: there are %lld %s", static_cast<long long>(index),
        static_cast<long long>(count), ofWhat);
    context.fail(&context, orErrorAssert, text);
  }
  return isIn;
}

template <class C>
struct EmbeddingBag {
  void operator()(const EmbeddingBagArgs& args, orKernelContext& context) const {
    const int64_t perBag = args.columns * (1 + args.count / std::max(int64_t{1}, args.bags));
    forEachPlane(context, args.bags, perBag, [&](int64_t bag) {
      if (args.mode == BagMode::Max) {
        findLargest(args, bag, context);
      } else {
        addUp(args, bag, context);
      }
    });
  }

 private:
  /// Calls `use(i, row)` for each index of a bag that counts, after it has noted whose they are. @return Their number.
  template <class Use>
  static int64_t forIndices(const EmbeddingBagArgs& args, int64_t bag, orKernelContext& context, Use use) {
    int64_t used = 0;
    const int64_t end = bag + 1 < args.bags ? args.offsets[bag + 1] : args.count;
    for (int64_t i = args.offsets[bag]; i < end; ++i) {
      const int64_t row = args.indices[i];
      if (i + 1 < end) { // rows lie anywhere: the next one is on its way while this one is added
        prefetch(args, args.indices[i + 1]);
      }
      args.bagOf[i] = bag;
      if (!isInRange(row, args.rows, "rows", context)) {
        return used;
      }
      if (row != args.paddingIndex) {
        use(i, static_cast<const C*>(args.weight) + row * args.columns, used++);
      }
    }
    args.sizes[bag] = used;
    return used;
  }

  static void prefetch(const EmbeddingBagArgs& args, int64_t row) {
    constexpr int64_t kCacheLine = 64;
    const int64_t bytes = args.columns * static_cast<int64_t>(sizeof(C));
    const char* from = static_cast<const char*>(args.weight) + row * bytes;
    for (int64_t i = 0; i < bytes; i += kCacheLine) {
      __builtin_prefetch(from + i);
    }
  }

  static void addUp(const EmbeddingBagArgs& args, int64_t bag, orKernelContext& context) {
    C* out = static_cast<C*>(args.output) + bag * args.columns;
    std::fill_n(out, args.columns, C(0));
    const int64_t used = forIndices(args, bag, context, [&](int64_t i, const C* row, int64_t) {
      const C factor = args.factors != nullptr ? static_cast<const C*>(args.factors)[i] : C(1);
      addRow(args.columns, out, row, factor);
    });
    for (int64_t j = 0; args.mode == BagMode::Mean && used > 0 && j < args.columns; ++j) {
      out[j] /= static_cast<C>(used);
    }
  }

  static void findLargest(const EmbeddingBagArgs& args, int64_t bag, orKernelContext& context) {
    C* out = static_cast<C*>(args.output) + bag * args.columns;
    int64_t* largest = args.largest + bag * args.columns;
    std::fill_n(out, args.columns, C(0));
    std::fill_n(largest, args.columns, int64_t{-1});
    forIndices(args, bag, context, [&](int64_t i, const C* row, int64_t before) {
      for (int64_t j = 0; j < args.columns; ++j) {
        if (before == 0 || row[j] > out[j]) {
          out[j] = row[j];
          largest[j] = args.indices[i];
        }
      }
    });
  }
};

/// Each factor's derivative is the product of its row and its bag's gradient.
template <class C>
struct EmbeddingBagFactors {
  void operator()(const EmbeddingBagArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.count, args.columns, [&](int64_t i) {
      const int64_t row = args.indices[i], bag = args.bagOf[i];
      if (isInRange(row, args.rows, "rows", context) && isInRange(bag, args.bags, "bags", context)) {
        const C* weight = static_cast<const C*>(args.weight) + row * args.columns;
        const C* grad = static_cast<const C*>(args.output) + bag * args.columns;
        static_cast<C*>(args.factors)[i] = row == args.paddingIndex ? C(0) : dot(args.columns, weight, grad);
      }
    });
  }
};

const RegisterTypes<"embedding_bag", EmbeddingBagArgs, EmbeddingBag, float, double> kForward;
const RegisterTypes<"embedding_bag_factors", EmbeddingBagArgs, EmbeddingBagFactors, float, double> kFactors;

} // namespace

} // namespace openreg::kernels
