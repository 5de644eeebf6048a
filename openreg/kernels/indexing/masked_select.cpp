// The kernel "masked_select". It follows "nonzero_count", which has counted what the mask chooses.
#include <algorithm>

#include "kernels/indexing/nonzero_chunks.h"
#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

class MaskedSelect : public LoopOver<MaskedSelectArgs> {
 public:
  static const char* refusal(const MaskedSelectArgs& args) {
    return withElementType(args.elementSize, [](auto) {}) ? nullptr : "elementSize is not 1, 2, 4, 8 or 16";
  }
  using LoopOver::LoopOver;
  int64_t count() const { return chunksOf(args_.mask); }
  int64_t grain() const { return kChunksOfAThread; }
  void operator()(int64_t begin, int64_t end) const {
    const MaskedSelectArgs args = args_; // a copy, which writing cannot change
    withElementType(args.elementSize, [&]<class T>(T) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        forEachNonzero(args.mask, chunk, [&](int64_t row, const FoundElements& found) {
          put(static_cast<T*>(args.values) + row, static_cast<const T*>(args.source), found);
        });
      }
    });
  }

 private:
  template <class T>
  static void put(T* to, const T* from, const FoundElements& found) {
    if (found.isRun()) {
      std::copy_n(from + found.first, found.count, to);
      return;
    }
    for (int64_t i = 0; i < found.count; ++i) {
      to[i] = from[found.numbers[i]];
    }
  }
};

const RowLoop<"masked_select", MaskedSelectArgs, MaskedSelect> kMaskedSelect;

} // namespace

} // namespace openreg::kernels
