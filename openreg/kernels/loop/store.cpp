// Arrays of a compute type into elements of any type.
#include <cstring>

#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class C, class T>
OPENREG_MULTIVERSION void storeDense(T* to, int64_t count, const C* from) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = convert<T>(from[i]);
  }
}

template <class C, class T>
void storeStrided(char* to, int64_t stride, int64_t count, const C* from) {
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<T*>(to + i * stride) = convert<T>(from[i]);
  }
}

} // namespace

template <class C>
void store(DType dtype, char* to, int64_t stride, int64_t count, const C* from) {
  withStorageType(dtype, [&]<class T>(T) {
    if (stride != sizeof(T)) {
      storeStrided<C, T>(to, stride, count, from);
    } else if constexpr (std::is_same_v<C, T>) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      storeDense(reinterpret_cast<T*>(to), count, from);
    }
  });
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type takes none
#define OPENREG_DEFINE(C) template void store<C>(DType, char*, int64_t, int64_t, const C*);
OPENREG_FORALL_COMPUTE_TYPES(OPENREG_DEFINE)

} // namespace openreg::kernels
