// Kernels' names as template arguments: a name is part of a kernel's type, so that another compiler's device code can
// be asked for the kernel of that name.
#pragma once

#include <cstddef>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

// No header of algorithms: every kernel includes this file.

/// A text that can be a template argument. @tparam size Its bytes, with the 0 at its end.
template <size_t size>
struct Name {
  char text[size]{};

  constexpr Name() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a literal is one
  constexpr Name(const char (&literal)[size]) { put(literal, size, 0); }

  /// Puts `count` letters in, from place `at` on.
  constexpr void put(const char* letters, size_t count, size_t at) {
    for (size_t i = 0; i < count; ++i) {
      text[at + i] = letters[i];
    }
  }
};

/// "foreach_add" of "foreach_" and "add".
template <size_t sizeOfFirst, size_t sizeOfSecond>
constexpr auto operator+(const Name<sizeOfFirst>& first, const Name<sizeOfSecond>& second) {
  Name<sizeOfFirst + sizeOfSecond - 1> joined;
  joined.put(first.text, sizeOfFirst - 1, 0);
  joined.put(second.text, sizeOfSecond, sizeOfFirst - 1);
  return joined;
}

constexpr size_t lengthOf(const char* text) {
  size_t length = 0;
  while (text[length] != 0) {
    ++length;
  }
  return length;
}

/// "add.float" of "add" and float.
template <Name name, class C>
constexpr auto fullName() {
  constexpr const char* kType = computeTypeName(kComputeTypeOf<C>);
  constexpr size_t kLength = lengthOf(kType);
  Name<kLength + 1> type;
  type.put(kType, kLength, 0);
  return name + Name(".") + type;
}

} // namespace openreg::kernels
