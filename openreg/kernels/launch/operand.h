// Strided operands of any type in the arguments of a launch. Plain data: the launcher includes this file, too.
#pragma once

#include <cstddef>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// An operand: elements in device memory, or one value that stands for all of them.
struct Operand {
  union {
    void* data;              ///< The first element; device memory.
    unsigned char value[16]; ///< The element itself, if `immediate`.
  };
  DType dtype;       ///< Of its elements; each operand has its own.
  int32_t immediate; ///< Whether the value is here (`x * 3`).
};

/// Most dimensions of an operand: as many as a tensor may have.
constexpr int kMaxOperandDims = 64;
/// Most operands of a kernel.
constexpr int kMaxOperands = 8;

// LITERALINCLUDE START: STRIDED ARGS
/// Operands over one space of indices. What varies in number is packed behind the header, so that a launch sends no
/// more than it uses: the operands (outputs first), the sizes, and the strides of each operand.
struct StridedArgs {
  int32_t dims;                            ///< 0 to kMaxOperandDims; 0 is one element. Dimension 0 is the fastest.
  int32_t operands;                        ///< How many.
  DType common;                            ///< The type that promotion found; `x == 300` with int8 x is int8.
  alignas(8) unsigned char parameters[64]; ///< The functor's fields; else unused.
  alignas(8) unsigned char packed[4096 - 16 - 64]; ///< A launch has at most 4096 bytes.

  Operand& operand(int k) { return reinterpret_cast<Operand*>(packed)[k]; }
  const Operand& operand(int k) const { return reinterpret_cast<const Operand*>(packed)[k]; }
  int64_t* sizes() { return reinterpret_cast<int64_t*>(packed + operands * sizeof(Operand)); }
  const int64_t* sizes() const { return const_cast<StridedArgs*>(this)->sizes(); }
  /// Bytes from one element to the next of each dimension; 0 where the operand is broadcast or reduced.
  int64_t* strides(int k) { return sizes() + dims * (k + 1); }
  const int64_t* strides(int k) const { return const_cast<StridedArgs*>(this)->strides(k); }

  /// Bytes that are used.
  size_t size() const {
    return offsetof(StridedArgs, packed) + static_cast<size_t>(operands) * sizeof(Operand) +
           static_cast<size_t>(dims) * static_cast<size_t>(operands + 1) * sizeof(int64_t);
  }
  /// Whether that many fit.
  static bool fits(int dims, int operands) {
    return dims <= kMaxOperandDims && operands <= kMaxOperands &&
           static_cast<size_t>(operands) * sizeof(Operand) + static_cast<size_t>(dims * (operands + 1)) * 8 <=
               sizeof(packed);
  }
  int64_t elements() const {
    int64_t product = 1;
    for (int i = 0; i < dims; ++i) {
      product *= sizes()[i];
    }
    return product;
  }
};
// LITERALINCLUDE END: STRIDED ARGS
static_assert(sizeof(StridedArgs) == 4096);

} // namespace openreg::kernels
