// Masks of vectors as bytes of bool. To be included after cpp_prefix.h.
#pragma once

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)

// LITERALINCLUDE START: COMPILED MASK
// at::vec asks lane by lane what a mask says before it stores it, and a dropout with its mask took five times as long
// as one without. The compiler makes a few instructions of this loop.
template <class T, int parts>
struct at::vec::VecMaskTo<bool, 1, T, parts> {
  static VecMask<bool, 1> apply(const VecMask<T, parts>& mask) {
    constexpr int count = VecMask<T, parts>::size();
    T lanes[count];
    VectorizedN<T, parts>(mask).store(lanes);
    bool bytes[Vectorized<bool>::size()] = {};
    for (int i = 0; i < count; ++i) {
      bytes[i] = lanes[i] != 0;
    }
    return Vectorized<bool>::loadu(bytes);
  }
};
// LITERALINCLUDE END: COMPILED MASK

#endif
