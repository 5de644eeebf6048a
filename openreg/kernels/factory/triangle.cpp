// The kernel "triangle": one side of a diagonal.
#include "kernels/factory/triangle.h"

#include <algorithm>

#include "kernels/loop/copy_row.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

template <class T>
void clearRow(char* out, int64_t outStride, int64_t count) {
  const T zero{};
  copyRow<T>(out, outStride, reinterpret_cast<const char*>(&zero), 0, count);
}

/// An element at a time, of those of one row together.
class Triangle {
 public:
  static const char* refusal(const TriangleArgs& args) {
    return args.dims < 2 ? "dims is less than 2" : refusalToCopy(args.dims, args.elementSize);
  }
  explicit Triangle(const TriangleArgs& args) : args_(args) {}
  int64_t count() const { return elementCount(args_.dims, args_.sizes); }
  void operator()(int64_t begin, int64_t end) const {
    withElementType(args_.elementSize, [&]<class T>(T) {
      for (int64_t at = begin; at < end;) {
        const int64_t row = at / args_.sizes[0], first = at % args_.sizes[0];
        const int64_t last = std::min(args_.sizes[0], first + end - at);
        putRow<T>(row, first, last);
        at += last - first;
      }
    });
  }

 private:
  /// The columns [first, last) of a row.
  template <class T>
  void putRow(int64_t row, int64_t first, int64_t last) const {
    const auto offset = [&](const int64_t* strides) {
      return Cursor(args_.dims - 1, args_.sizes + 1, strides + 1, row).offset();
    };
    auto* out = static_cast<char*>(args_.out) + offset(args_.outStrides);
    const auto* in = static_cast<const char*>(args_.in) + offset(args_.inStrides);
    const int64_t at = row % args_.sizes[1] + args_.diagonal; // the column of the diagonal
    const int64_t begin = args_.upper != 0 ? std::clamp(at, first, last) : first;
    const int64_t end = args_.upper != 0 ? last : std::clamp(at + 1, first, last);
    const int64_t stride = args_.outStrides[0];
    clearRow<T>(out + first * stride, stride, begin - first);
    if (in != out || stride != args_.inStrides[0]) {
      copyRow<T>(out + begin * stride, stride, in + begin * args_.inStrides[0], args_.inStrides[0], end - begin);
    }
    clearRow<T>(out + end * stride, stride, last - end);
  }

  const TriangleArgs& args_;
};

const Loop<"triangle", TriangleArgs, Triangle> kTriangle;

} // namespace

} // namespace openreg::kernels
