// Text that another process has written.
#include "text.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace openreg::process {

namespace {

/// How many bytes the character takes that `text` starts with; 0 if it is none that can be shown.
size_t characterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes > text.size()) {
    return 0;
  }
  uint32_t code = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool tooLong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool isSurrogate = code >= 0xD800 && code < 0xE000;
  return tooLong || isSurrogate || code > 0x10FFFF ? 0 : bytes;
}

} // namespace

std::string printable(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::string shown;
  while (!text.empty()) {
    const size_t bytes = text[0] == '\n' || text[0] == '\t' ? 1 : characterBytes(text);
    shown += bytes == 0 ? "?" : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return shown;
}

std::string described(const char* format, ...) {
  char text[300];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  return text;
}

} // namespace openreg::process
