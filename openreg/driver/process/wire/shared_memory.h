// Memory that can be handed to another process, and that is gone when nobody has it any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "common/descriptor.h"

namespace openreg::process {

/// A copy of what another process may change at any time. What is checked of it is what is used: the compiler may not
/// read the original again.
template <class T>
T snapshot(const T& shared) {
  static_assert(std::is_trivially_copyable_v<T>);
  T copy;
  std::memcpy(&copy, &shared, sizeof(T));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return copy;
}

/// Creates zeroed memory without a name in any file system; pages appear as they are used. Throws std::system_error.
Descriptor createMemory(const char* name, size_t bytes);

/// A view of such memory.
class View {
 public:
  View() = default;

  enum class Access { Read, ReadWrite };

  /// Maps `bytes` from the start; a forked child does not have it. Throws std::system_error.
  View(const Descriptor& memory, size_t bytes, Access access = Access::ReadWrite);

  /// Addresses without access, to be opened piece by piece. Throws std::system_error.
  explicit View(size_t bytes);
  ~View();
  View(View&& other) noexcept : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  View& operator=(View&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Whether others see what is written.
  enum class Sharing { Shared, Private };

  /// Maps whole pages of `memory` at the same offset of the view; false if that cannot be. A forked child inherits
  /// them.
  bool open(const Descriptor& memory, size_t offset, size_t bytes, Sharing sharing = Sharing::Shared);

  /// Takes the access to a piece away again.
  void close(size_t offset, size_t bytes);

  char* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(begin_);
  }

 private:
  void map(size_t bytes, int protection, int flags, int file);

  char* begin_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace openreg::process
