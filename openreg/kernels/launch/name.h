// Kernels' names as template arguments: a name is part of a kernel's type, so that another compiler's device code can
// be asked for the kernel of that name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// A text that can be a template argument. @tparam size Its bytes, with the 0 at its end.
template <size_t size>
struct Name {
  char text[size]{};

  constexpr Name() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a literal is one
  constexpr Name(const char (&literal)[size]) { std::copy_n(literal, size, text); }
};

/// "foreach_add" of "foreach_" and "add".
template <size_t sizeOfFirst, size_t sizeOfSecond>
constexpr auto operator+(const Name<sizeOfFirst>& first, const Name<sizeOfSecond>& second) {
  Name<sizeOfFirst + sizeOfSecond - 1> joined;
  std::copy_n(second.text, sizeOfSecond, std::copy_n(first.text, sizeOfFirst - 1, joined.text));
  return joined;
}

/// "add.float" of "add" and float.
template <Name name, class C>
constexpr auto fullName() {
  constexpr std::string_view kType = computeTypeName(kComputeTypeOf<C>);
  Name<kType.size() + 1> type;
  std::copy_n(kType.data(), kType.size(), type.text);
  return name + Name(".") + type;
}

} // namespace openreg::kernels
