// Philox4x32-10: random numbers as a function of a seed and a place, so that any thread can compute any of them.
#pragma once

#include <cstdint>

namespace openreg::kernels {

// LITERALINCLUDE START: PHILOX RANGE
/// A part of the sequence of a seed. The sequence is a row of 2^64 blocks of 128 random bits. Plain data: the launcher
/// includes this file, too.
struct PhiloxRange {
  uint64_t seed;
  uint64_t offset;                    ///< The first block.
  const uint64_t* captured = nullptr; ///< Device memory, read: a seed, and an offset to be added. For launches that are
                                      ///< repeated, each time with other numbers; else null.
};
// LITERALINCLUDE END: PHILOX RANGE

/// The range that is meant, when the launch runs.
inline PhiloxRange resolved(const PhiloxRange& range) {
  return range.captured == nullptr ? range : PhiloxRange{range.captured[0], range.captured[1] + range.offset};
}

/// Bytes that a range leads to.
constexpr uint64_t capturedBytes(const PhiloxRange& range) {
  return range.captured == nullptr ? 0 : 2 * sizeof(uint64_t);
}

/// Numbers in a block: four of 32 bits, or two of 64.
template <class Bits>
constexpr int kPerBlock = 16 / sizeof(Bits);

// LITERALINCLUDE START: PHILOX
/// J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A counter goes in, a
/// block of random words comes out. Loops over many blocks become vector code.
[[gnu::always_inline]] inline void philox(uint32_t (&words)[4], uint64_t seed) {
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * words[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * words[2];
    words[0] = static_cast<uint32_t>(product1 >> 32) ^ words[1] ^ key0;
    words[1] = static_cast<uint32_t>(product1);
    words[2] = static_cast<uint32_t>(product0 >> 32) ^ words[3] ^ key1;
    words[3] = static_cast<uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}
// LITERALINCLUDE END: PHILOX

// LITERALINCLUDE START: DRAW BLOCK
/// Block number `block` of a range, which is resolved(). The lower half of the counter is the place, the upper half is
/// free.
[[gnu::always_inline]] inline void drawBlock(const PhiloxRange& numbers, uint64_t block, uint32_t (&words)[4]) {
  const uint64_t place = numbers.offset + block;
  words[0] = static_cast<uint32_t>(place);
  words[1] = static_cast<uint32_t>(place >> 32);
  words[2] = 0;
  words[3] = 0;
  philox(words, numbers.seed);
}
// LITERALINCLUDE END: DRAW BLOCK

/// The numbers of a block.
template <class Bits>
[[gnu::always_inline]] inline void drawNumbers(const PhiloxRange& numbers, uint64_t block, Bits* bits) {
  uint32_t words[4];
  drawBlock(numbers, block, words);
  if constexpr (sizeof(Bits) == sizeof(uint32_t)) {
    for (int word = 0; word < 4; ++word) {
      bits[word] = words[word];
    }
  } else {
    bits[0] = uint64_t{words[1]} << 32 | words[0];
    bits[1] = uint64_t{words[3]} << 32 | words[2];
  }
}

} // namespace openreg::kernels
