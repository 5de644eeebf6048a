// The kernels "searchsorted.…": binary search.
#include "kernels/sorting/searchsorted.h"

#include <algorithm>

#include "kernels/indexing/index_walk.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Search {
  struct Loop {
    const SearchArgs& args;
    orKernelContext& context;
  };

  void operator()(const SearchArgs& args, orKernelContext& context) const {
    Loop loop{args, context};
    context.parallelFor(
        &context, args.count, kGrain / 16,
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, context] = *static_cast<Loop*>(state);
          search(args, context, begin, end);
        },
        &loop);
  }

  static void search(const SearchArgs& args, orKernelContext& context, int64_t begin, int64_t end) {
    const C* values = static_cast<const C*>(args.values);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = args.perRow > 0 ? i / args.perRow * args.size : 0;
      const C* boundaries = static_cast<const C*>(args.boundaries) + row;
      const int64_t* sorter = args.sorter != nullptr ? args.sorter + row : nullptr;
      int64_t low = 0;
      for (int64_t high = args.size; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        const int64_t at = sorter != nullptr ? sorter[middle] : middle;
        if (at < 0 || at >= args.size) {
          return failOutOfRange(context, at, 0, args.size);
        }
        // Turned round, so that a NaN among the values goes behind all boundaries.
        const bool isBefore = args.right != 0 ? !(boundaries[at] > values[i]) : !(boundaries[at] >= values[i]);
        isBefore ? low = middle + 1 : high = middle;
      }
      if (args.narrow != 0) {
        static_cast<int32_t*>(args.result)[i] = static_cast<int32_t>(low);
      } else {
        static_cast<int64_t*>(args.result)[i] = low;
      }
    }
  }
};

const RegisterTypes<"searchsorted", SearchArgs, Search, int64_t, float, double> kSearch;

} // namespace

} // namespace openreg::kernels
