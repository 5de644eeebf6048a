// Text that another process has written.
#pragma once

#include <string>
#include <string_view>

namespace openreg::process {

/// The text up to its first zero, or all of it if it has none. What is not printable UTF-8 becomes '?': it goes into
/// error messages, which Python decodes.
std::string printable(std::string_view text);

/// As printf.
std::string described(const char* format, ...) __attribute__((format(printf, 1, 2)));

} // namespace openreg::process
