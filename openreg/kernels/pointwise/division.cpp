// Elementwise kernels: division with a whole quotient, and what remains.
#include <cmath>

#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

/// Quotient, cut off. INT64_MIN / -1 does not fit into its type, and the processor would end the process for it.
template <class C>
C divide(C a, C b) {
  if constexpr (std::is_signed_v<C>) {
    return b == C(-1) ? C(0) - a : a / b;
  } else {
    return a / b;
  }
}

/// What remains, with the sign of `a`.
template <class C>
C rest(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::fmod(a, b);
  } else {
    return a - divide(a, b) * b;
  }
}

/// What remains, with the sign of `b`.
template <class C>
C remainder(C a, C b) {
  const C left = rest(a, b);
  return left != C(0) && (left < C(0)) != (b < C(0)) ? left + b : left;
}

/// As Python's //: floor(a / b) may be one too many, as a / b may have been rounded up to a whole number.
template <class C>
C floorDivide(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return divide(a, b) - C(rest(a, b) != 0 && (a < C(0)) != (b < C(0)));
  } else {
    if (b == C(0)) {
      return a / b;
    }
    const C left = rest(a, b);
    const C quotient = (a - left) / b - C(left != C(0) && (left < C(0)) != (b < C(0)));
    if (quotient == C(0)) {
      return std::copysign(C(0), a / b);
    }
    const C whole = std::floor(quotient);
    return quotient - whole > C(0.5) ? whole + 1 : whole;
  }
}

template <class C>
C truncDivide(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return divide(a, b);
  } else {
    return std::trunc(a / b);
  }
}

// LITERALINCLUDE START: CHECKED KERNEL
/// A kernel of integers that fails if a divisor is 0. The processor would end the process.
template <class F>
struct CheckedKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    Search search{args, false};
    if (args.operands == 3 && args.dims >= 0 && args.dims <= kMaxOperandDims) {
      context->parallelFor(context, args.elements(), kGrain, &findZero, &search);
    }
    if (search.found) {
      return context->fail(context, orErrorAssert, "ZeroDivisionError: an integer was divided by 0");
    }
    ElementwiseKernel<F>::run(bytes, context);
  }

 private:
  using C = Signature<decltype(&F::operator())>::Result;
  struct Search {
    const StridedArgs& args;
    bool found;
  };

  static void findZero(void* state, int64_t begin, int64_t end) {
    auto& search = *static_cast<Search*>(state);
    const Piece piece{search.args, 2, begin, end};
    Lane<C> divisors(piece);
    bool found = false;
    for (int64_t at = begin; at < end;) {
      const int64_t count = piece.room(at, kBlock);
      const C* divisor = divisors.read(count);
      for (int64_t i = 0; i < count; ++i) {
        found |= divisor[i] == 0;
      }
      at += count;
    }
    if (found) {
      __atomic_store_n(&search.found, true, __ATOMIC_RELAXED); // by several threads
    }
  }
};

// LITERALINCLUDE END: CHECKED KERNEL

/// A lambda of two elements as kernels for all real numbers, checked where they are integers.
template <auto f>
class Division {
 public:
  OPENREG_IN_THIS_FILE explicit Division(const char* name) : floats_(name) {
    checked<int64_t>(name);
    checked<uint64_t>(name);
  }

 private:
  template <class C>
  static void checked(const char* name) {
    using F = Lambda<f>::template Binary<C>;
    add({fullName(name, kComputeTypeOf<C>), &CheckedKernel<F>::run, offsetof(StridedArgs, packed)});
  }
  Binary<f, Floats> floats_;
};

const Division<[](auto a, auto b) { return floorDivide(a, b); }> kFloorDivide("div_floor");
const Division<[](auto a, auto b) { return truncDivide(a, b); }> kTruncDivide("div_trunc");
const Division<[](auto a, auto b) { return remainder(a, b); }> kRemainder("remainder");
const Division<[](auto a, auto b) { return rest(a, b); }> kFmod("fmod");

} // namespace

} // namespace openreg::kernels
