// The kernels "triangle" and "triangle_indices": one side of a diagonal.
#include "kernels/factory/triangle.h"

#include <algorithm>

#include "kernels/launch/registry.h"
#include "kernels/loop/copy_row.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

template <class T>
void clearRow(char* out, int64_t outStride, int64_t count) {
  const T zero{};
  copyRow<T>(out, outStride, reinterpret_cast<const char*>(&zero), 0, count);
}

template <class T>
void rows(void* state, int64_t begin, int64_t end) {
  const auto& args = *static_cast<const TriangleArgs*>(state);
  const int64_t columns = args.sizes[0];
  for (int64_t row = begin; row < end; ++row) {
    auto* out = static_cast<char*>(args.out) + Cursor(args.dims - 1, args.sizes + 1, args.outStrides + 1, row).offset();
    const auto* in =
        static_cast<const char*>(args.in) + Cursor(args.dims - 1, args.sizes + 1, args.inStrides + 1, row).offset();
    const int64_t at = row % args.sizes[1] + args.diagonal; // the column of the diagonal
    const int64_t first = args.upper != 0 ? std::clamp(at, int64_t{0}, columns) : 0;
    const int64_t last = args.upper != 0 ? columns : std::clamp(at + 1, int64_t{0}, columns);
    const int64_t stride = args.outStrides[0];
    clearRow<T>(out, stride, first);
    if (in != out || stride != args.inStrides[0]) {
      copyRow<T>(out + first * stride, stride, in + first * args.inStrides[0], args.inStrides[0], last - first);
    }
    clearRow<T>(out + last * stride, stride, columns - last);
  }
}

struct Triangle {
  void operator()(const TriangleArgs& args, orKernelContext& context) const {
    if (args.dims < 2 || args.dims > kMaxDims || args.sizes[0] == 0) {
      return context.fail(&context, orErrorInvalidValue, "dims or sizes are out of range");
    }
    int64_t count = 1;
    for (int i = 1; i < args.dims; ++i) {
      count *= args.sizes[i];
    }
    const int64_t grain = std::max(int64_t{1}, kGrain / args.sizes[0]);
    const bool known = withElementType(args.elementSize, [&]<class T>(T) {
      context.parallelFor(&context, count, grain, &rows<T>, const_cast<TriangleArgs*>(&args));
    });
    if (!known) {
      context.fail(&context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
    }
  }
};

template <class T>
void putIndices(const TriangleIndicesArgs& args) {
  T* rows = static_cast<T*>(args.out);
  T* columns = rows + args.count;
  for (int64_t row = 0; row < args.rows; ++row) {
    const int64_t at = row + args.diagonal;
    const int64_t first = args.upper != 0 ? std::clamp(at, int64_t{0}, args.columns) : 0;
    const int64_t last = args.upper != 0 ? args.columns : std::clamp(at + 1, int64_t{0}, args.columns);
    for (int64_t column = first; column < last; ++column) {
      *rows++ = static_cast<T>(row);
      *columns++ = static_cast<T>(column);
    }
  }
}

struct TriangleIndices {
  void operator()(const TriangleIndicesArgs& args, orKernelContext&) const {
    args.elementSize == 8 ? putIndices<int64_t>(args) : putIndices<int32_t>(args);
  }
};

const Register<"triangle", TriangleArgs, Triangle> kTriangle;
const Register<"triangle_indices", TriangleIndicesArgs, TriangleIndices> kIndices;

} // namespace

} // namespace openreg::kernels
