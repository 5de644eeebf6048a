// Loops over parts of one size, whose results are joined. How many parts there are depends on how many elements there
// are, and not on how many threads: so the result is the same in each run.
#pragma once

#include "kernels/loop/loops.h"

namespace openreg::kernels {

/// A phase that does a part at a time. If there is one, it writes the result, else `sums`.
/// @tparam Args With `parts()`, and `sums`: room in device memory, which one part doesn't need.
template <class Args>
class EachPart : public LoopOver<Args> {
 public:
  static const char* refusal(const Args& args) {
    return args.parts() > 1 && args.sums == nullptr ? "sums is null; expected room for the sums of all parts" : nullptr;
  }
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.parts(); }
  int64_t grain() const { return 1; }
};

/// The phase behind it, which joins them if there are several.
template <class Args>
class AllParts : public EachPart<Args> {
 public:
  using EachPart<Args>::EachPart;
  int64_t count() const { return this->args_.parts() > 1 ? 1 : 0; }
};

} // namespace openreg::kernels
