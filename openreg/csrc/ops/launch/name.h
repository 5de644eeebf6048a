// Strings as arguments of templates.
#pragma once

#include <algorithm>
#include <cstddef>

namespace openreg {

/// A string that can be a template's argument: `kernelFamily<"add">`.
template <size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, value); } // NOLINT(google-explicit-constructor)
  char value[N];
};

} // namespace openreg
