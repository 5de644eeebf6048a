// The kernel "masked_select". It follows "nonzero_count", which has counted what the mask chooses.
#include <algorithm>

#include "kernels/indexing/nonzero_chunks.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

/// The chosen elements of a chunk, behind those of the chunks before it.
template <class T>
void selectChunk(const MaskedSelectArgs& args, int64_t chunk) {
  const auto* from = static_cast<const T*>(args.source);
  T* to = static_cast<T*>(args.values) + args.mask.counts[chunk];
  forEachBlock(args.mask, chunk, [&](int64_t first, const bool* flags, int64_t count) {
    const int64_t all = countSet(flags, count);
    if (all == count) { // Flags often come in runs.
      std::copy_n(from + first, count, to);
    } else if (all != 0) {
      int64_t found[kBlock + 1];
      findSet(flags, count, first, found);
      for (int64_t i = 0; i < all; ++i) {
        to[i] = from[found[i]];
      }
    }
    to += all;
  });
}

struct MaskedSelect {
  void operator()(const MaskedSelectArgs& args, orKernelContext& context) const {
    const bool known = withElementType(args.elementSize, [&]<class T>(T) {
      forEachChunk(args.mask, context, &args, [](void* state, int64_t begin, int64_t end) {
        const auto args = *static_cast<const MaskedSelectArgs*>(state); // a copy, which writing cannot change
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          selectChunk<T>(args, chunk);
        }
      });
    });
    if (!known) {
      context.fail(&context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
    }
  }
};

const Register<"masked_select", MaskedSelectArgs, MaskedSelect> kMaskedSelect;

} // namespace

} // namespace openreg::kernels
