// The kernel "copy": between arrays of any strides.
#include "kernels/copy/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/launch/registry.h"
#include "kernels/loop/copy_row.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

struct Copy {
  char* dst;
  const char* src;
  int64_t elementSize;
  Dims<2> dims; // Operand 0 is dst, so that writes go through memory in order.

  static constexpr int kDst = 0;
  static constexpr int kSrc = 1;

  /// Walks each dimension in the direction in which the destination lies in memory.
  void writeForwards() {
    for (int i = 0; i < dims.count; ++i) {
      if (dims.stride[kDst][i] < 0) {
        dst += std::exchange(dims.stride[kDst][i], -dims.stride[kDst][i]) * (dims.size[i] - 1);
        src += std::exchange(dims.stride[kSrc][i], -dims.stride[kSrc][i]) * (dims.size[i] - 1);
      }
    }
  }
};

/// Elements of an array of one dimension.
template <class T>
void copyElements(void* state, int64_t begin, int64_t end) {
  const auto& copy = *static_cast<const Copy*>(state);
  const int64_t dstStride = copy.dims.stride[Copy::kDst][0];
  const int64_t srcStride = copy.dims.stride[Copy::kSrc][0];
  copyRow<T>(copy.dst + begin * dstStride, dstStride, copy.src + begin * srcStride, srcStride, end - begin);
}

template <class T>
void copyRows(void* state, int64_t begin, int64_t end) {
  const auto& copy = *static_cast<const Copy*>(state);
  const Dims<2>& dims = copy.dims;
  for (int64_t row = begin; row < end; ++row) {
    copyRow<T>(
        copy.dst + dims.rowOffset(Copy::kDst, row), dims.stride[Copy::kDst][0],
        copy.src + dims.rowOffset(Copy::kSrc, row), dims.stride[Copy::kSrc][0], dims.size[0]);
  }
}

struct CopyKernel {
  void operator()(const CopyArgs& args, orKernelContext& context) const {
    if (args.dims < 0 || args.dims > kMaxDims) {
      return context.fail(&context, orErrorInvalidValue, "dims is out of range");
    }
    Copy copy{static_cast<char*>(args.dst), static_cast<const char*>(args.src), args.elementSize, {}};
    copy.dims.count = static_cast<int>(args.dims);
    std::copy_n(args.sizes, args.dims, copy.dims.size);
    std::copy_n(args.dstStrides, args.dims, copy.dims.stride[Copy::kDst]);
    std::copy_n(args.srcStrides, args.dims, copy.dims.stride[Copy::kSrc]);
    const int64_t elements = copy.dims.elements();
    if (elements == 0) {
      return;
    }
    copy.writeForwards();
    copy.dims.simplify();
    const bool known = withElementType(args.elementSize, [&]<class T>(T) {
      Dims<2>& dims = copy.dims;
      if (dims.count == 0) {
        std::memcpy(copy.dst, copy.src, sizeof(T));
      } else if (dims.count == 1) {
        context.parallelFor(&context, elements, kGrain, &copyElements<T>, &copy);
      } else {
        const int64_t rows = elements / dims.size[0];
        context.parallelFor(&context, rows, std::max(int64_t{1}, kGrain / dims.size[0]), &copyRows<T>, &copy);
      }
    });
    if (!known) {
      context.fail(&context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
    }
  }
};

// LITERALINCLUDE START: REGISTER COPY KERNEL
const Register<CopyArgs> registration("copy", CopyKernel{});
// LITERALINCLUDE END: REGISTER COPY KERNEL

} // namespace

} // namespace openreg::kernels
