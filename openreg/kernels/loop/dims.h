// Sizes of strided operands, and their dimensions in the order in which they are fastest to walk.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Largest number of dimensions that a strided kernel takes.
constexpr int kMaxDims = 16;

/// How many elements an operand of these sizes has.
inline int64_t elementCount(int dims, const int64_t* sizes) {
  int64_t product = 1;
  for (int i = 0; i < dims; ++i) {
    product *= sizes[i];
  }
  return product;
}

/// A walk over N operands of equal shape. Strides are in bytes; dimension 0 is the innermost after simplify().
template <int N>
struct Dims {
  int count = 0;
  int64_t size[kMaxDims]{};
  int64_t stride[N][kMaxDims]{};

  int64_t elements() const { return elementCount(count, size); }

  /// Drops dimensions of size 1, makes the first operand's smallest stride the innermost, and joins dimensions that are
  /// one run in all operands. The set of elements stays the same.
  void simplify();

  /// Bytes from operand k's start to the row with number `row`, where a row is a run along dimension 0.
  int64_t rowOffset(int k, int64_t row) const {
    int64_t offset = 0;
    for (int i = 1; i < count; ++i) {
      offset += row % size[i] * stride[k][i];
      row /= size[i];
    }
    return offset;
  }

  /// Calls `use(offsets, run)` for the runs along dimension 0 that elements [begin, end) consist of: bytes from each
  /// operand's start, and how many elements.
  template <class Use>
  void forEachRun(int64_t begin, int64_t end, Use use) const {
    const int64_t length = count == 0 ? 1 : size[0];
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / length;
      const int64_t first = at - row * length;
      const int64_t run = end - at < length - first ? end - at : length - first;
      int64_t offsets[N];
      for (int k = 0; k < N; ++k) {
        offsets[k] = rowOffset(k, row) + first * stride[k][0];
      }
      use(offsets, run);
      at += run;
    }
  }

 private:
  void drop(int at) {
    --count;
    for (int i = at; i < count; ++i) {
      size[i] = size[i + 1];
      for (int k = 0; k < N; ++k) {
        stride[k][i] = stride[k][i + 1];
      }
    }
  }
  void exchange(int a, int b) {
    const auto swap = [](int64_t& x, int64_t& y) {
      const int64_t kept = x;
      x = y;
      y = kept;
    };
    swap(size[a], size[b]);
    for (int k = 0; k < N; ++k) {
      swap(stride[k][a], stride[k][b]);
    }
  }
};

template <int N>
void Dims<N>::simplify() {
  for (int i = count - 1; i >= 0; --i) {
    if (size[i] == 1) {
      drop(i);
    }
  }
  const auto distance = [this](int i) { return stride[0][i] < 0 ? -stride[0][i] : stride[0][i]; };
  for (int i = 1; i < count; ++i) { // Few and mostly sorted: insertion.
    for (int j = i; j > 0 && distance(j) < distance(j - 1); --j) {
      exchange(j, j - 1);
    }
  }
  for (int i = count - 1; i > 0; --i) {
    bool joined = true;
    for (int k = 0; k < N; ++k) {
      joined = joined && stride[k][i] == stride[k][i - 1] * size[i - 1];
    }
    if (joined) {
      size[i - 1] *= size[i];
      drop(i);
    }
  }
}

} // namespace openreg::kernels
