// Pages of this process, held by RAII.
#pragma once

#include <cstddef>

namespace openreg {

/// Anonymous private memory, or a file. Empty if it could not be had.
class Mapping {
 public:
  enum class Access { None, ReadWrite };

  Mapping() = default;
  Mapping(size_t bytes, size_t alignment, Access access);

  /// Of a file, whose bytes others may share.
  static Mapping ofFile(int file, size_t bytes);

  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* begin() const { return begin_; }
  size_t size() const { return size_; }
  explicit operator bool() const { return begin_ != nullptr; }

  /// Gives the pages of [offset, offset + bytes), which are whole ones, back to the system. Read again they are zero.
  void discard(size_t offset, size_t bytes);

  /// Gives all but the first `bytes` back; these stay mapped when this object is gone.
  void abandon(size_t bytes);

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
  bool isFile_ = false;
};

} // namespace openreg
