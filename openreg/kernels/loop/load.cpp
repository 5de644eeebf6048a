// Elements of any type into arrays of a compute type.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class C, class T>
OPENREG_MULTIVERSION void loadDense(const T* from, int64_t count, C* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = convert<C>(from[i]);
  }
}

#if defined(__x86_64__)
/// Processors convert halves eight at a time, but gcc has no loop become that instruction before version 13.
/// @return How many have been converted.
__attribute__((target("avx,f16c"))) int64_t loadEights(const Half* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}
#endif

void loadDense(const Half* from, int64_t count, float* to) {
  int64_t done = 0;
#if defined(__x86_64__)
  static const bool can = __builtin_cpu_supports("f16c") != 0;
  done = can ? loadEights(from, count, to) : 0;
#endif
  loadDense<float, Half>(from + done, count - done, to + done);
}

template <class C, class T>
void loadStrided(const char* from, int64_t stride, int64_t count, C* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = convert<C>(*reinterpret_cast<const T*>(from + i * stride));
  }
}

} // namespace

template <class C>
void load(DType dtype, const char* from, int64_t stride, int64_t count, C* to) {
  withStorageType(dtype, [&]<class T>(T) {
    if (stride == 0) {
      std::fill_n(to, count, convert<C>(*reinterpret_cast<const T*>(from)));
    } else if (stride != sizeof(T)) {
      loadStrided<C, T>(from, stride, count, to);
    } else if constexpr (std::is_same_v<C, T>) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      loadDense(reinterpret_cast<const T*>(from), count, to);
    }
  });
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type takes none
#define OPENREG_DEFINE(C) template void load<C>(DType, const char*, int64_t, int64_t, C*);
OPENREG_FORALL_COMPUTE_TYPES(OPENREG_DEFINE)

} // namespace openreg::kernels
