// The kernel "triangle_indices": where the elements on one side of a diagonal are.
#include <algorithm>

#include "kernels/factory/triangle.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// An element at a time: which row it is in follows from how many elements the rows before have.
class TriangleIndices : public LoopOver<TriangleIndicesArgs> {
 public:
  static const char* refusal(const TriangleIndicesArgs& args) {
    return args.elementSize == 4 || args.elementSize == 8 ? nullptr : "elementSize is neither 4 nor 8";
  }
  using LoopOver::LoopOver;
  int64_t count() const { return args_.count; }
  void operator()(int64_t begin, int64_t end) const {
    args_.elementSize == 8 ? putIndices<int64_t>(begin, end) : putIndices<int32_t>(begin, end);
  }

 private:
  template <class T>
  void putIndices(int64_t begin, int64_t end) const {
    T* rows = static_cast<T*>(args_.out);
    T* columns = rows + args_.count;
    for (int64_t row = rowOf(begin), at = begin; at < end; ++row) {
      const int64_t next = std::min(end, before(row + 1));
      for (int64_t column = firstColumn(row) + at - before(row); at < next; ++at, ++column) {
        rows[at] = static_cast<T>(row);
        columns[at] = static_cast<T>(column);
      }
    }
  }

  int64_t firstColumn(int64_t row) const {
    return args_.upper != 0 ? std::clamp(row + args_.diagonal, int64_t{0}, args_.columns) : 0;
  }

  /// The first row that ends behind an element.
  int64_t rowOf(int64_t element) const {
    int64_t first = 0;
    for (int64_t last = args_.rows; first < last;) {
      const int64_t middle = first + (last - first) / 2;
      if (before(middle + 1) > element) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }

  /// How many elements the rows before one have.
  int64_t before(int64_t row) const {
    const int64_t upTo = args_.upper != 0 ? args_.diagonal - 1 : args_.diagonal;
    const int64_t left = sumOfColumns(upTo + row) - sumOfColumns(upTo);
    return args_.upper != 0 ? row * args_.columns - left : left;
  }

  /// The sum of the numbers up to one, of which none counts for more than there are columns.
  int64_t sumOfColumns(int64_t last) const {
    const int64_t rising = std::clamp(last, int64_t{0}, args_.columns);
    return rising * (rising + 1) / 2 + std::max(int64_t{0}, last - args_.columns) * args_.columns;
  }
};

const Loop<"triangle_indices", TriangleIndicesArgs, TriangleIndices> kIndices;

} // namespace

} // namespace openreg::kernels
