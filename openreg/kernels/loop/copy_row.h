// Elements of a row from one place to another, whatever they mean.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/loop/dims.h"
#include "kernels/loop/element.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// Why there can't be a copy of elements of this size in arrays of so many dimensions; null if there can.
inline const char* refusalToCopy(int64_t dims, int64_t elementSize) {
  if (dims < 0 || dims > kMaxDims) {
    return "dims is out of range";
  }
  return withElementType(elementSize, [](auto) {}) ? nullptr : "elementSize is not 1, 2, 4, 8 or 16";
}

/// Copies `count` elements; strides are in bytes. With a source stride of 0 one element is written everywhere, as in
/// `x[:] = y`. Loads and stores by memcpy, which is free here: an array may start at any byte. The rows are apart.
/// Static, as all functions in versions.
template <class T>
OPENREG_MULTIVERSION static void
copyRow(char* dst, int64_t dstStride, const char* src, int64_t srcStride, int64_t count) {
  constexpr int64_t kSize = sizeof(T);
  T element;
  if (dstStride == kSize && srcStride == kSize) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
  } else if (srcStride == 0) {
    std::memcpy(&element, src, sizeof(T));
    const auto repeat = [&](int64_t stride) {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(dst + i * stride, &element, sizeof(T));
      }
    };
    dstStride == kSize ? repeat(kSize) : repeat(dstStride); // the compiler makes vectors of the strides it knows
  } else {
    const auto move = [&](int64_t to, int64_t from) {
      OPENREG_IVDEP
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(&element, src + i * from, sizeof(T));
        std::memcpy(dst + i * to, &element, sizeof(T));
      }
    };
    dstStride == kSize&& srcStride == -kSize ? move(kSize, -kSize) : move(dstStride, srcStride); // backwards: flip
  }
}

} // namespace openreg::kernels
