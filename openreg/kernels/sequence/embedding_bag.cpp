// The kernel "embedding_bag".
#include "kernels/sequence/embedding_bag.h"

#include <cstdio>

#include "kernels/image/planes.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/convert.h"

namespace openreg::kernels {

namespace {

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
    for (int64_t i = args.offsets[bag]; i < args.offsets[bag + 1]; ++i) {
      const int64_t row = args.indices[i];
      args.bagOf[i] = bag;
      if (row < 0 || row >= args.rows) {
        char text[128];
        std::snprintf(
            text, sizeof(text), "index %lld is out of range: there are %lld rows", static_cast<long long>(row),
            static_cast<long long>(args.rows));
        context.fail(&context, orErrorAssert, text);
        return used;
      }
      if (row != args.paddingIndex) {
        use(i, static_cast<const C*>(args.weight) + row * args.columns, used++);
      }
    }
    args.sizes[bag] = used;
    return used;
  }

  static void addUp(const EmbeddingBagArgs& args, int64_t bag, orKernelContext& context) {
    C* out = static_cast<C*>(args.output) + bag * args.columns;
    std::fill_n(out, args.columns, C(0));
    const int64_t used = forIndices(args, bag, context, [&](int64_t i, const C* row, int64_t) {
      const C factor = args.factors != nullptr ? static_cast<const C*>(args.factors)[i] : C(1);
      for (int64_t j = 0; j < args.columns; ++j) {
        out[j] += row[j] * factor;
      }
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

const RegisterTypes<EmbeddingBagArgs, EmbeddingBag, float, double> kForward("embedding_bag");

} // namespace

} // namespace openreg::kernels
