// The kernel "copy": between arrays of any strides.
#include "kernels/copy/copy.h"

#include <algorithm>
#include <utility>

#include "kernels/loop/copy_row.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

class Copy {
 public:
  static const char* refusal(const CopyArgs& args) { return refusalToCopy(args.dims, args.elementSize); }

  explicit Copy(const CopyArgs& args)
      : dst_(static_cast<char*>(args.dst)), src_(static_cast<const char*>(args.src)), elementSize_(args.elementSize) {
    dims_.count = static_cast<int>(args.dims);
    std::copy_n(args.sizes, args.dims, dims_.size);
    std::copy_n(args.dstStrides, args.dims, dims_.stride[kDst]);
    std::copy_n(args.srcStrides, args.dims, dims_.stride[kSrc]);
    writeForwards();
    dims_.simplify();
  }

  int64_t count() const { return dims_.elements(); }

  void operator()(int64_t begin, int64_t end) const {
    withElementType(elementSize_, [&]<class T>(T) {
      dims_.forEachRun(begin, end, [&](const int64_t* offsets, int64_t run) {
        copyRow<T>(dst_ + offsets[kDst], dims_.stride[kDst][0], src_ + offsets[kSrc], dims_.stride[kSrc][0], run);
      });
    });
  }

 private:
  /// Walks each dimension in the direction in which the destination lies in memory.
  void writeForwards() {
    for (int i = 0; i < dims_.count; ++i) {
      if (dims_.stride[kDst][i] < 0) {
        dst_ += std::exchange(dims_.stride[kDst][i], -dims_.stride[kDst][i]) * (dims_.size[i] - 1);
        src_ += std::exchange(dims_.stride[kSrc][i], -dims_.stride[kSrc][i]) * (dims_.size[i] - 1);
      }
    }
  }

  static constexpr int kDst = 0;
  static constexpr int kSrc = 1;
  char* dst_;
  const char* src_;
  int64_t elementSize_;
  Dims<2> dims_; // Operand 0 is dst, so that writes go through memory in order.
};

// LITERALINCLUDE START: REGISTER COPY KERNEL
const Loop<"copy", CopyArgs, Copy> registration;
// LITERALINCLUDE END: REGISTER COPY KERNEL

} // namespace

} // namespace openreg::kernels
