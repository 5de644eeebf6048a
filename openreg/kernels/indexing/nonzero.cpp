// The kernels "nonzero_count" and "nonzero".
#include <algorithm>

#include "kernels/indexing/nonzero_chunks.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

namespace {

/// Each chunk by itself.
class CountChunk : public LoopOver<NonzeroArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return chunksOf(args_); }
  int64_t grain() const { return kChunksOfAThread; }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t found = countNonzero(args_, chunk);
      onceARow([&] { args_.counts[chunk] = found; });
    }
  }
};

/// Then, how many there are before each.
class CountBefore : public LoopOver<NonzeroArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return 1; }
  void operator()(int64_t /*begin*/, int64_t /*end*/) const { sumBefore(args_.counts, chunksOf(args_)); }
};

class Nonzero : public LoopOver<NonzeroArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return chunksOf(args_); }
  int64_t grain() const { return kChunksOfAThread; }
  void operator()(int64_t begin, int64_t end) const {
    const NonzeroArgs args = args_; // a copy, which writing indices cannot change
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      forEachNonzero(args, chunk, [&](int64_t row, FoundElements found) {
        found.count = std::min(found.count, args.limit - row);
        putRows(args, found, row);
      });
    }
  }

 private:
  /// Writes the rows of the result from `row` on.
  static void putRows(const NonzeroArgs& args, const FoundElements& found, int64_t row) {
    const bool isArray = args.dims == 1 && args.rowStride == 1;
    if (isArray && !found.isRun()) {
      std::copy_n(found.numbers, std::max(int64_t{0}, found.count), args.indices + row);
      return;
    }
    for (int64_t i = 0; i < found.count; ++i) {
      if (isArray) {
        args.indices[row + i] = found.first + i;
      } else {
        putIndices(args, found[i], args.indices + (row + i) * args.rowStride);
      }
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

const Phases<"nonzero_count", NonzeroArgs, RowKernel<NonzeroArgs, CountChunk>, RowKernel<NonzeroArgs, CountBefore>>
    kCount;
const RowLoop<"nonzero", NonzeroArgs, Nonzero> kNonzero;

} // namespace

} // namespace openreg::kernels
