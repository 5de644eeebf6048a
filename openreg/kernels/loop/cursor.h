// A walk through an operand's elements in the order of the index space.
#pragma once

#include <algorithm>

#include "kernels/launch/operand.h"

namespace openreg::kernels {

// LITERALINCLUDE START: CURSOR
/// Where an operand's next element is. Rows (runs along dimension 0) are walked inside, so that short ones cost little.
class Cursor {
 public:
  /// Begins at element number `at` of a space with these sizes.
  Cursor(int dims, const int64_t* sizes, const int64_t* strides, int64_t at)
      : dims_(dims), sizes_(sizes), strides_(strides) {
    for (int i = 0; i < dims_; ++i) {
      index_[i] = at % sizes_[i];
      at /= sizes_[i];
      offset_ += index_[i] * strides_[i];
    }
  }

  Cursor(const StridedArgs& args, int operand, int64_t at)
      : Cursor(args.dims, args.sizes(), args.strides(operand), at) {}

  /// Bytes from the operand's start to where the cursor stands.
  int64_t offset() const { return offset_; }

  /// Goes `count` elements ahead; calls `use(offset, stride, done, run)` for each run of elements with one stride:
  /// bytes from the operand's start, bytes between elements, elements before this run, and in it.
  template <class Use>
  void advance(int64_t count, Use use) {
    if (dims_ == 0) {
      return use(int64_t{0}, int64_t{0}, int64_t{0}, count);
    }
    for (int64_t done = 0; done < count;) {
      const int64_t run = std::min(count - done, sizes_[0] - index_[0]);
      use(offset_, strides_[0], done, run);
      done += run;
      offset_ += run * strides_[0];
      if ((index_[0] += run) == sizes_[0]) {
        nextRow();
      }
    }
  }

 private:
  void nextRow() {
    for (int i = 0;;) {
      offset_ -= sizes_[i] * strides_[i];
      index_[i] = 0;
      if (++i == dims_) {
        return; // Past the end.
      }
      offset_ += strides_[i];
      if (++index_[i] < sizes_[i]) {
        return;
      }
    }
  }

  int dims_;
  const int64_t* sizes_;
  const int64_t* strides_;
  int64_t offset_ = 0;
  int64_t index_[kMaxOperandDims];
};
// LITERALINCLUDE END: CURSOR

} // namespace openreg::kernels
