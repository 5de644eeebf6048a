// Arguments of the kernels "arange.…", "linspace.…" and "logspace.…". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Writes evenly spaced numbers to a contiguous array.
struct RangeArgs {
  void* out;
  int64_t count;
  DType dtype;                         ///< Of `out`.
  alignas(16) unsigned char start[16]; ///< The first number, of the kernel's compute type.
  unsigned char step[16];              ///< "arange": from one to the next.
  unsigned char end[16];               ///< The others: the last number.
  double base;                         ///< "logspace": the numbers are exponents of this.
};

} // namespace openreg::kernels
