// The kernels "nonzero_count" and "nonzero".
#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/indexing/nonzero_chunks.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

struct Count {
  void operator()(const NonzeroArgs& args, orKernelContext& context) const {
    forEachChunk(args, context, &args, [](void* state, int64_t begin, int64_t end) {
      const auto& args = *static_cast<const NonzeroArgs*>(state);
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t found = 0;
        forEachBlock(args, chunk, [&](int64_t, const bool* flags, int64_t count) { found += countSet(flags, count); });
        args.counts[chunk] = found;
      }
    });
    int64_t before = 0;
    const int64_t chunks = (elementCount(args.dims, args.sizes) + kNonzeroChunk - 1) / kNonzeroChunk;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      before += std::exchange(args.counts[chunk], before);
    }
    args.counts[chunks] = before;
  }
};

struct Nonzero {
  void operator()(const NonzeroArgs& args, orKernelContext& context) const {
    forEachChunk(args, context, &args, [](void* state, int64_t begin, int64_t end) {
      const auto args = *static_cast<const NonzeroArgs*>(state); // a copy, which writing indices cannot change
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t row = args.counts[chunk];
        forEachBlock(args, chunk, [&](int64_t first, const bool* flags, int64_t count) {
          int64_t found[kBlock + 1];
          const int64_t all = countSet(flags, count);
          if (all == count) { // Flags often come in runs.
            std::iota(found, found + count, first);
          } else if (all != 0) {
            findSet(flags, count, first, found);
          }
          putRows(args, found, std::min(all, args.limit - row), row);
          row += all;
        });
      }
    });
  }

  /// Writes rows [row, row + count) of the result.
  static void putRows(const NonzeroArgs& args, const int64_t* elements, int64_t count, int64_t row) {
    if (args.dims == 1 && args.rowStride == 1) {
      std::copy_n(elements, std::max(int64_t{0}, count), args.indices + row);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      putIndices(args, elements[i], args.indices + (row + i) * args.rowStride);
    }
  }

  static void putIndices(const NonzeroArgs& args, int64_t element, int64_t* to) {
    for (int i = 0; i + 1 < args.dims; ++i) {
      to[(args.dims - 1 - i) * args.columnStride] = element % args.sizes[i];
      element /= args.sizes[i];
    }
    if (args.dims > 0) { // a division takes longer than all the rest
      to[0] = element;
    }
  }
};

const Register<"nonzero_count", NonzeroArgs, Count> kCount;
const Register<"nonzero", NonzeroArgs, Nonzero> kNonzero;

} // namespace

} // namespace openreg::kernels
