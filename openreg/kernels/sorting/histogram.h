// Arguments of the kernels "bincount", "histc.…" and "repeat_interleave". Plain data: the launcher includes this file,
// too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Counts how often each number is there.
struct BincountArgs {
  int64_t* counts; ///< One for each of the numbers from 0 on, written.
  const int64_t* in;
  int64_t count;
  int64_t bins; ///< More than the largest number, or the kernel fails.
};

/// Counts elements in bins of one width. Arrays are contiguous, numbers of the compute type.
struct HistogramArgs {
  void* counts; ///< One for each bin, written.
  void* in;
  int64_t count;
  int64_t bins;
  double lower; ///< If both are equal, the smallest and the largest element bound the bins.
  double upper;
};

/// Writes each number i as often as it is to be repeated.
struct RepeatArgs {
  void* out;           ///< `size` numbers, written.
  const int64_t* ends; ///< For each number, how many numbers there are up to it.
  int64_t count;       ///< Numbers.
  int64_t size;        ///< What the last of `ends` has to be.
  int64_t narrow;      ///< Whether the numbers are of 32 bits.
};

} // namespace openreg::kernels
