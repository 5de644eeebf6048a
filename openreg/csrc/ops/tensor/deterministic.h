// torch.use_deterministic_algorithms promises known contents where a program reads memory that it never wrote.
#pragma once

#include <ATen/Context.h>

namespace openreg {

/// Whether new memory has to be filled: NaN for floating point, the largest value for integers.
inline bool fillsUninitializedMemory() {
  return C10_UNLIKELY(at::globalContext().deterministicAlgorithms()) &&
         at::globalContext().deterministicFillUninitializedMemory();
}

} // namespace openreg
