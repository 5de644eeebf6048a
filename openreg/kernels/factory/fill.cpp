// The kernel "fill": one value into an array of any strides.
#include "kernels/factory/fill.h"

#include <algorithm>
#include <cstring>

#include "kernels/launch/registry.h"
#include "kernels/loop/copy_row.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

struct Fill {
  char* dst;
  const unsigned char* value;
  Dims<1> dims;
};

template <class T>
void fillRows(void* state, int64_t begin, int64_t end) {
  const auto& fill = *static_cast<const Fill*>(state);
  const Dims<1>& dims = fill.dims;
  for (int64_t row = begin; row < end; ++row) {
    const auto* value = reinterpret_cast<const char*>(fill.value);
    copyRow<T>(fill.dst + dims.rowOffset(0, row), dims.stride[0][0], value, 0, dims.size[0]);
  }
}

/// A contiguous array, over elements. Zeros and other values of one byte only are the C library's job.
template <class T>
void fillRun(void* state, int64_t begin, int64_t end) {
  const auto& fill = *static_cast<const Fill*>(state);
  char* dst = fill.dst + begin * static_cast<int64_t>(sizeof(T));
  const unsigned char* value = fill.value;
  if (std::all_of(value, value + sizeof(T), [value](unsigned char byte) { return byte == value[0]; })) {
    std::memset(dst, value[0], static_cast<size_t>(end - begin) * sizeof(T));
    return;
  }
  copyRow<T>(dst, sizeof(T), reinterpret_cast<const char*>(value), 0, end - begin);
}

struct FillKernel {
  void operator()(const FillArgs& args, orKernelContext& context) const {
    if (args.dims < 0 || args.dims > kMaxDims) {
      return context.fail(&context, orErrorInvalidValue, "dims is out of range");
    }
    Fill fill{static_cast<char*>(args.dst), args.value, {}};
    fill.dims.count = static_cast<int>(args.dims);
    std::copy_n(args.sizes, args.dims, fill.dims.size);
    std::copy_n(args.strides, args.dims, fill.dims.stride[0]);
    const int64_t elements = fill.dims.elements();
    if (elements == 0) {
      return;
    }
    fill.dims.simplify();
    const bool known = withElementType(args.elementSize, [&]<class T>(T) {
      Dims<1>& dims = fill.dims;
      if (dims.count == 0 || (dims.count == 1 && dims.stride[0][0] == sizeof(T))) {
        context.parallelFor(&context, elements, kGrain, &fillRun<T>, &fill);
      } else {
        const int64_t rows = elements / dims.size[0];
        context.parallelFor(&context, rows, std::max(int64_t{1}, kGrain / dims.size[0]), &fillRows<T>, &fill);
      }
    });
    if (!known) {
      context.fail(&context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
    }
  }
};

const Register<FillArgs> registration("fill", FillKernel{});

} // namespace

} // namespace openreg::kernels
