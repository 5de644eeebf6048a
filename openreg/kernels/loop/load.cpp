// Elements of any type into arrays of a compute type.
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
