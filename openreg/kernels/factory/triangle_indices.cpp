// The kernel "triangle_indices": where the elements on one side of a diagonal are.
#include <algorithm>

#include "kernels/factory/triangle.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

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

const Register<"triangle_indices", TriangleIndicesArgs, TriangleIndices> kIndices;

} // namespace

} // namespace openreg::kernels
