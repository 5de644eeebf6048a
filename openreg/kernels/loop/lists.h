// Elementwise kernels over lists of tensors: one launch for many of them. Plain data: the launcher includes this file,
// too.
#pragma once

#include <cstddef>

#include "kernels/launch/operand.h"

namespace openreg::kernels {

// LITERALINCLUDE START: LIST ARGS
/// What each tensor of a list begins with; its operands lie behind it, the output first.
struct ListEntry {
  int64_t count;                           ///< Elements of each operand, without gaps.
  alignas(8) unsigned char parameters[16]; ///< The functor's fields.

  Operand& operand(int k) { return reinterpret_cast<Operand*>(this + 1)[k]; }
  const Operand& operand(int k) const { return reinterpret_cast<const Operand*>(this + 1)[k]; }
};

/// Operand::immediate of an operand in device memory that is a single element, which stands for all.
constexpr int32_t kSingle = 2;

/// The elementwise kernel "name" has a form "foreach_name" with these arguments: as many tensors as fit into a launch.
struct ListArgs {
  int32_t tensors;
  int32_t operands; ///< Of each tensor.
  DType common;     ///< As of StridedArgs.
  int32_t inPlace;  ///< The first operand is the output and the first input: one pointer for both.
  alignas(8) unsigned char packed[4096 - 16];

  size_t entrySize() const { return sizeof(ListEntry) + static_cast<size_t>(operands) * sizeof(Operand); }
  ListEntry& entry(int i) { return *reinterpret_cast<ListEntry*>(packed + static_cast<size_t>(i) * entrySize()); }
  const ListEntry& entry(int i) const { return const_cast<ListArgs*>(this)->entry(i); }

  /// Bytes that are used.
  size_t size() const { return offsetof(ListArgs, packed) + static_cast<size_t>(tensors) * entrySize(); }
};
// LITERALINCLUDE END: LIST ARGS
} // namespace openreg::kernels
