// How far the device counts.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <limits>

namespace openreg {

/// What the device's library for products, and some kernels, can count to: they have 32 bits.
constexpr int64_t kLargestCount = std::numeric_limits<int32_t>::max();

/**
 * @brief Checks a size at the call. If the kernel found it, the device would have failed for good.
 * @param op Operator. @param what What is counted.
 * @throws c10::Error
 */
inline void checkCount(const char* op, const char* what, int64_t count) {
  TORCH_CHECK(
      count <= kLargestCount, op, ": the device counts ", what, " up to ", kLargestCount, ", but there are ", count);
}

} // namespace openreg
