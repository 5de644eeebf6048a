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

  /// Room of `room` bytes without access, whose first `bytes` are those of a file, which others may share.
  static Mapping ofFile(int file, size_t bytes, size_t room);

  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* begin() const { return begin_; }
  size_t size() const { return size_; }
  explicit operator bool() const { return begin_ != nullptr; }

  /// Gives the pages of [offset, offset + bytes), which are whole ones, back to the system. Read again they are zero.
  void discard(size_t offset, size_t bytes);

  /// Maps whole pages of a file over those of [offset, offset + bytes); false if the machine refuses.
  bool replace(size_t offset, size_t bytes, int file, size_t fileOffset);

  /// Maps fresh private pages over them, which read as zero.
  bool renew(size_t offset, size_t bytes);

  /// Gives all but the first `bytes` back; these stay mapped when this object is gone.
  void abandon(size_t bytes);

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
  size_t fileBytes_ = 0; ///< So many at the beginning are a file's.
};

} // namespace openreg
