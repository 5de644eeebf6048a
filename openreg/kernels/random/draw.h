// Kernels out of distributions: one line makes a distribution the kernels "name.float", "name.double".
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/launch/strided_entry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/loop_kernel.h"
#include "kernels/random/draw_blocks.h"
#include "kernels/random/random.h"

namespace openreg::kernels {

/// Blocks of random numbers that are drawn at a time: for as many elements as are converted at a time, or a few.
constexpr int64_t kBlocks = std::max(int64_t{1}, kBlock / 4);

/// The random bits that make a number of type C.
template <class C>
using BitsOf = std::conditional_t<sizeof(C) == sizeof(uint32_t), uint32_t, uint64_t>;

// LITERALINCLUDE START: UNITS
/// A number between 0 and 1, neither of which it is, so that its logarithm is finite and not 0.
inline float openUnit(uint32_t bits) {
  return std::min(static_cast<float>(bits) * 0x1p-32f + 0x1p-33f, 1 - 0x1p-24f);
}
inline double openUnit(uint64_t bits) {
  return std::min(static_cast<double>(bits >> 11) * 0x1p-53 + 0x1p-54, 1 - 0x1p-53);
}

/// One of `count` integers, from 0 on; 0 stands for 2^64. The upper half of a product: some of the integers come up
/// once in 2^64 times more often than others.
inline uint64_t below(uint64_t count, uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return count == 0 ? bits : static_cast<uint64_t>(static_cast<Wide>(bits) * count >> 64);
}
// LITERALINCLUDE END: UNITS

/// The next `count` elements of an operand, in the order of their numbers.
template <class C>
void readNext(const Operand& in, Cursor& cursor, int64_t count, C* values) {
  const char* data = in.immediate != 0 ? reinterpret_cast<const char*>(in.value) : static_cast<const char*>(in.data);
  cursor.advance(count, [&](int64_t offset, int64_t stride, int64_t done, int64_t run) {
    load(in.dtype, data + offset, stride, run, values + done);
  });
}
template <class C>
void writeNext(const Operand& out, Cursor& cursor, int64_t count, const C* values) {
  cursor.advance(count, [&](int64_t offset, int64_t stride, int64_t done, int64_t run) {
    store(out.dtype, static_cast<char*>(out.data) + offset, stride, run, values + done);
  });
}

/// Draws the numbers of blocks [begin, end) of a range, some at a time, for `elements` elements in all. Calls
/// `use(count, bits)` for each such run of `count` elements; `bits` has whole blocks, also at the end.
template <class Bits, class Use>
void eachRun(const PhiloxRange& numbers, int64_t elements, int64_t begin, int64_t end, Use use) {
  Bits bits[kBlocks * kPerBlock<Bits>];
  for (int64_t at = begin; at < end; at += kBlocks) {
    const int64_t blocks = std::min(kBlocks, end - at);
    drawBlocks(numbers, at, blocks, bits);
    use(std::min(blocks * kPerBlock<Bits>, elements - at * kPerBlock<Bits>), bits);
  }
}

/// Elements of a run, at most.
template <class Bits>
constexpr int64_t kRun = kBlocks * kPerBlock<Bits>;

/// The parameters of a launch.
template <class P>
P parametersOf(const StridedArgs& args) {
  static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= sizeof(args.parameters));
  P parameters;
  std::memcpy(static_cast<void*>(&parameters), args.parameters, sizeof(P));
  return parameters;
}

/// What loops over the blocks of random numbers that a launch's elements need have in common: a block's values depend
/// on its place alone. So the numbers are the same however many threads take part, and an element's is the same
/// whatever its strides.
template <class Bits, int operands>
class BlockLoop {
 public:
  static const char* refusal(const StridedArgs& args) {
    const bool good = args.dims >= 0 && args.dims <= kMaxOperandDims && args.operands == operands;
    return good ? nullptr : "dims or operands is out of range";
  }

  explicit BlockLoop(const StridedArgs& args) : args_(args) {}

  int64_t count() const { return (args_.elements() + kPerBlock<Bits> - 1) / kPerBlock<Bits>; }
  /// A random number is worth some additions: a quarter of the usual elements is enough for a thread.
  int64_t grain() const { return kGrain / 4 / kPerBlock<Bits>; }

 protected:
  /// A walk through an operand from the first element of a block on.
  Cursor cursor(int operand, int64_t block) const { return Cursor(args_, operand, block * kPerBlock<Bits>); }

  const StridedArgs& args_;
};

// LITERALINCLUDE START: DRAW KERNEL
/// A loop out of a distribution D: its base are the launch's parameters, its call operator turns random bits into
/// values.
template <class D>
class DrawLoop : public BlockLoop<typename D::Bits, 1> {
  using Bits = D::Bits;
  using Base = BlockLoop<Bits, 1>;

 public:
  using Base::Base;

  void operator()(int64_t begin, int64_t end) const {
    const StridedArgs& args = this->args_;
    const auto distribution = parametersOf<D>(args);
    Cursor cursor = this->cursor(0, begin);
    typename D::Value values[kRun<Bits>];
    eachRun<Bits>(distribution.numbers, args.elements(), begin, end, [&](int64_t count, const Bits* bits) {
      distribution((count + 1) / 2 * 2, bits, values); // in pairs
      writeNext(args.operand(0), cursor, count, values);
    });
  }
};
// LITERALINCLUDE END: DRAW KERNEL

/// A static object of this type makes a loop over strided operands the kernel `name`.
template <Name name, class L>
class StridedLoop : public StridedEntry<name, &LoopKernel<StridedArgs, L>::run> {};

/// A static object of this type makes kernels of distributions, each named after what it computes in.
template <Name name, class... D>
class Draw : public StridedLoop<fullName<name, typename D::Value>(), DrawLoop<D>>... {};

} // namespace openreg::kernels
