// Elementwise kernels over lists of tensors: one launch for many of them. Plain data: the launcher includes this file,
// too.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/launch/operand.h"
#include "openreg_kernel.h"

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
static_assert(sizeof(ListArgs) == OPENREG_MAX_ARGUMENT_BYTES);

/// Calls `use(tensor, begin, end)` for the parts of tensors that lie in [begin, end) of all their elements in a row.
template <class Count, class Use>
void eachPart(int tensors, Count count, int64_t begin, int64_t end, Use use) {
  for (int i = 0; i < tensors && end > 0; ++i) {
    const int64_t size = count(i);
    if (begin < size) {
      use(i, std::max(begin, int64_t{0}), std::min(end, size));
    }
    begin -= size;
    end -= size;
  }
}

/// A loop over a piece of an elementwise kernel's operands, as parallelFor takes it; its state are StridedArgs.
using ElementwiseLoop = void (*)(void* args, int64_t begin, int64_t end);

/// Runs the loop for each tensor of a list. @param operands As many as the kernel has, the output included.
void runList(const ListArgs& args, int operands, ElementwiseLoop loop, orKernelContext* context);

} // namespace openreg::kernels
