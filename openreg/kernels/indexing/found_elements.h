// Elements that a search has found.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Numbers of elements, in order.
struct FoundElements {
  int64_t count;
  int64_t first;                    ///< If they are a run, as they often are,
  const int64_t* numbers = nullptr; ///< and else these.

  bool isRun() const { return numbers == nullptr; }
  int64_t operator[](int64_t i) const { return isRun() ? first + i : numbers[i]; }
};

} // namespace openreg::kernels
