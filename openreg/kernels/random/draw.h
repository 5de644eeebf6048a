// Kernels out of distributions: one line makes a distribution the kernels "name.float", "name.double".
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"
#include "kernels/random/random.h"

namespace openreg::kernels {

/// Blocks of random numbers that are drawn at a time.
constexpr int64_t kBlocks = 128;

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

/// Deals the blocks that a launch's elements need out to the device's threads.
template <class Bits>
void forBlocks(const StridedArgs& args, orKernelContext* context, orLoopBody body, const void* state) {
  const int64_t blocks = (args.elements() + kPerBlock<Bits> - 1) / kPerBlock<Bits>;
  // A random number is worth some additions: a quarter of the usual elements is enough for a thread.
  context->parallelFor(context, blocks, kGrain / 4 / kPerBlock<Bits>, body, const_cast<void*>(state));
}

/// Whether a launch's arguments are what a kernel of so many operands can use; else reports it.
inline bool checkOperands(const StridedArgs& args, int operands, orKernelContext* context) {
  const bool good = args.dims >= 0 && args.dims <= kMaxOperandDims && args.operands == operands;
  if (!good) {
    context->fail(context, orErrorInvalidValue, "dims or operands is out of range");
  }
  return good;
}

/// The parameters of a launch.
template <class P>
P parametersOf(const StridedArgs& args) {
  static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= sizeof(args.parameters));
  P parameters;
  std::memcpy(static_cast<void*>(&parameters), args.parameters, sizeof(P));
  return parameters;
}

// LITERALINCLUDE START: DRAW KERNEL
/// A kernel out of a distribution D: its base are the launch's parameters, its call operator turns random bits into
/// values.
///
/// Work is dealt out in blocks of the range, and a block's values depend on its place alone. So the numbers are the
/// same however many threads take part, and an element's is the same whatever its strides.
template <class D>
class DrawKernel {
  using Bits = D::Bits;
  using Value = D::Value;

 public:
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (checkOperands(args, 1, context)) {
      forBlocks<Bits>(args, context, &loop, bytes);
    }
  }

 private:
  static void loop(void* state, int64_t begin, int64_t end) {
    const auto& args = *static_cast<const StridedArgs*>(state);
    const auto distribution = parametersOf<D>(args);
    Cursor cursor(args, 0, begin * kPerBlock<Bits>);
    Value values[kRun<Bits>];
    eachRun<Bits>(distribution.numbers, args.elements(), begin, end, [&](int64_t count, const Bits* bits) {
      distribution((count + 1) / 2 * 2, bits, values); // in pairs
      writeNext(args.operand(0), cursor, count, values);
    });
  }
};
// LITERALINCLUDE END: DRAW KERNEL

/// A static object of this type makes kernels of distributions, each named after what it computes in.
template <class... D>
class Draw {
 public:
  OPENREG_IN_THIS_FILE explicit Draw(const char* name) {
    (add({fullName(name, kComputeTypeOf<typename D::Value>), &DrawKernel<D>::run, offsetof(StridedArgs, packed)}), ...);
  }
};

} // namespace openreg::kernels
