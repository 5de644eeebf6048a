// Random numbers of compiled code: Inductor's, a vector of them at a time. To be included after cpp_prefix.h.
#pragma once

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

// LITERALINCLUDE START: COMPILED RANDOM
// Lanes of 64 bits, of which the upper halves are of no account.
#if defined(CPU_CAPABILITY_AVX512)
typedef uint64_t Lanes __attribute__((vector_size(64)));
inline Lanes product(Lanes x, Lanes y) {
  return reinterpret_cast<Lanes>(_mm512_mul_epu32(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
}
#else
typedef uint64_t Lanes __attribute__((vector_size(32)));
inline Lanes product(Lanes x, Lanes y) {
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
}
#endif

/// The first of the four numbers that Philox 4x32-10 makes of a key and each counter: Salmon et al., "Parallel random
/// numbers: as easy as 1, 2, 3" (2011).
inline Lanes philox(uint32_t key, Lanes counter) {
  Lanes c0 = counter, c1{}, c2{}, c3{};
  uint32_t k0 = key, k1 = 0;
  for (int round = 0; round < 10; ++round) {
    const Lanes p0 = product(c0, Lanes{} + 0xD2511F53U), p1 = product(c2, Lanes{} + 0xCD9E8D57U);
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c3 = p0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c0;
}

/// A number in [0, 1) for a seed and each place: those of Inductor's normalized_rand_cpu.
template <class Floats, class Places>
Floats uniform(uint32_t seed, const Places& places) {
  constexpr int count = Floats::size(), wide = sizeof(Lanes) / sizeof(uint64_t);
  typename Places::value_type stored[count];
  places.store(stored, count);
  float numbers[count];
  for (int i = 0; i < count; i += wide) {
    Lanes counter;
    for (int lane = 0; lane < wide; ++lane) {
      counter[lane] = static_cast<uint64_t>(stored[i + lane]);
    }
    const Lanes drawn = philox(seed, counter);
    for (int lane = 0; lane < wide; ++lane) {
      numbers[i + lane] = uint32_to_uniform_float(static_cast<uint32_t>(drawn[lane]));
    }
  }
  return Floats::loadu(numbers, count);
}
// LITERALINCLUDE END: COMPILED RANDOM

} // namespace
#endif
