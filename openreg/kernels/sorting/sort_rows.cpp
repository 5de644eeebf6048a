// The kernel "sort_rows".
#include "kernels/sorting/sort_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/sorting/order_key.h"

namespace openreg::kernels {

namespace {

struct SortRows {
  void operator()(const SortRowsArgs& args, orKernelContext&) const {
    std::vector<uint64_t> keys(static_cast<size_t>(args.rows * args.columns));
    loadKeys(
        args.dtype, static_cast<const char*>(args.in), elementSize(args.dtype), args.rows * args.columns, keys.data());
    const auto row = [&](int64_t i) { return keys.data() + i * args.columns; };
    std::iota(args.order, args.order + args.rows, int64_t{0});
    std::sort(args.order, args.order + args.rows, [&](int64_t a, int64_t b) {
      const auto [first, second] = std::mismatch(row(a), row(a) + args.columns, row(b));
      return first == row(a) + args.columns ? a < b : *first < *second; // equal rows keep their order
    });
  }
};

const Register<"sort_rows", SortRowsArgs, SortRows> kSortRows;

} // namespace

} // namespace openreg::kernels
