// The text of an error that a kernel reports, with numbers in it.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Puts a text together without the host's library, which a GPU does not have. What does not fit is cut off.
class ErrorText {
 public:
  ErrorText& operator<<(const char* text) {
    for (; *text != 0; ++text) {
      add(*text);
    }
    return *this;
  }

  ErrorText& operator<<(int64_t number) {
    char digits[20];
    int count = 0;
    uint64_t left = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do {
      digits[count++] = static_cast<char>('0' + left % 10);
      left /= 10;
    } while (left != 0);
    if (number < 0) {
      add('-');
    }
    while (count > 0) {
      add(digits[--count]);
    }
    return *this;
  }

  const char* get() const { return text_; }

 private:
  static constexpr int kSize = 160;

  void add(char letter) {
    if (length_ + 1 < kSize) {
      text_[length_++] = letter;
      text_[length_] = 0;
    }
  }

  char text_[kSize] = {};
  int length_ = 0;
};

} // namespace openreg::kernels
