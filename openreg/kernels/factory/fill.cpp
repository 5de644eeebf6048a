// The kernel "fill": one value into an array of any strides.
#include "kernels/factory/fill.h"

#include <algorithm>
#include <cstring>

#include "kernels/loop/copy_row.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

class Fill {
 public:
  static const char* refusal(const FillArgs& args) { return refusalToCopy(args.dims, args.elementSize); }

  explicit Fill(const FillArgs& args)
      : dst_(static_cast<char*>(args.dst)), value_(args.value), elementSize_(args.elementSize) {
    dims_.count = static_cast<int>(args.dims);
    std::copy_n(args.sizes, args.dims, dims_.size);
    std::copy_n(args.strides, args.dims, dims_.stride[0]);
    dims_.simplify();
    // Zeros and other values of one byte only are the C library's job.
    isOfBytes_ = std::all_of(value_, value_ + elementSize_, [this](unsigned char byte) { return byte == value_[0]; });
  }

  int64_t count() const { return dims_.elements(); }

  void operator()(int64_t begin, int64_t end) const {
    withElementType(elementSize_, [&]<class T>(T) {
      const int64_t stride = dims_.stride[0][0];
      dims_.forEachRun(begin, end, [&](const int64_t* offsets, int64_t run) {
        if (isOfBytes_ && stride == sizeof(T)) {
          std::memset(dst_ + offsets[0], value_[0], static_cast<size_t>(run) * sizeof(T));
        } else {
          copyRow<T>(dst_ + offsets[0], stride, reinterpret_cast<const char*>(value_), 0, run);
        }
      });
    });
  }

 private:
  char* dst_;
  const unsigned char* value_;
  int64_t elementSize_;
  bool isOfBytes_;
  Dims<1> dims_;
};

const Loop<"fill", FillArgs, Fill> registration;

} // namespace

} // namespace openreg::kernels
