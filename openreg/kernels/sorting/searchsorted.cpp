// The kernels "searchsorted.…": binary search.
#include "kernels/sorting/searchsorted.h"

#include "kernels/indexing/index_error.h"
#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

template <class C>
class Search : public LoopOver<SearchArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.count; }
  int64_t grain() const { return kGrain / 16; }
  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    const SearchArgs& args = args_;
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

const Loops<"searchsorted", SearchArgs, Search, int64_t, float, double> kSearch;

} // namespace

} // namespace openreg::kernels
