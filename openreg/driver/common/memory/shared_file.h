// Memory that processes share, and how one tells the other where it is.
#pragma once

#include <array>
#include <cstddef>

#include "common/descriptor.h"
#include "openreg.h"

namespace openreg {

/// What a handle names.
enum class SharedKind { Memory, Event };

/// What is shared begins at a multiple of this, a page.
constexpr size_t kSharedAlignment = 4096;

/// Memory in a file that no file system shows; it is gone when nobody has it any more, however they ended.
class SharedFile {
 public:
  SharedFile() = default;

  /// Zeroed; pages appear as they are used, and its size stays. Throws std::system_error.
  explicit SharedFile(size_t bytes);

  /// Its first bytes. Throws std::system_error where the machine has not so much memory.
  void write(const char* bytes, size_t count);

  int number() const { return file_.number(); }

  /// Names [offset, offset + bytes) to another process, as long as this one has the file: this process, the number of
  /// its descriptor, and a key that cannot be guessed.
  orIpcMemHandle handleOf(SharedKind kind, size_t offset, size_t bytes) const;

 private:
  std::array<unsigned char, 16> key_{};
  Descriptor file_;
};

/// A part of a file that another process shares.
struct SharedPart {
  Descriptor file;
  size_t offset = 0;
  size_t bytes = 0;
};

/// Opens what a handle names. The system lets those in who may look into the other process: its own user, as a rule.
/// Refuses the call, with the reason, for a handle that names nothing, or nothing for us.
SharedPart openShared(const orIpcMemHandle& handle, SharedKind kind);

} // namespace openreg
