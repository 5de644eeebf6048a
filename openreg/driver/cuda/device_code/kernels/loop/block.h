// Loads and stores that convert, an element at a time: threads of a GPU take the place of a loop over many.
#pragma once

#include "kernels/loop/convert.h"

namespace openreg::kernels {

/// Elements that are converted at a time.
constexpr int64_t kBlock = 1;

/// An element of any type as a C. Not inlined: there are as many cases as types.
template <class C>
__noinline__ C loadOne(DType dtype, const void* from) {
  C value{};
  withStorageType(dtype, [&]<class T>(T) { value = convert<C>(*static_cast<const T*>(from)); });
  return value;
}

/// Writes an element of any type.
template <class C>
__noinline__ void storeOne(DType dtype, void* to, C value) {
  withStorageType(dtype, [&]<class T>(T) { *static_cast<T*>(to) = convert<T>(value); });
}

/// The same for elements that are `stride` bytes apart.
template <class C>
void load(DType dtype, const char* from, int64_t stride, int64_t count, C* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = loadOne<C>(dtype, from + i * stride);
  }
}
template <class C>
void store(DType dtype, char* to, int64_t stride, int64_t count, const C* from) {
  for (int64_t i = 0; i < count; ++i) {
    storeOne<C>(dtype, to + i * stride, from[i]);
  }
}

} // namespace openreg::kernels
