// Which bytes of a device's memory are free.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace openreg {

/// Best fit, lowest address first among equals; neighbours that are free are joined. Works on offsets, touches no
/// memory.
class Arena {
 public:
  explicit Arena(size_t bytes) { give(0, bytes); }

  /// Takes `bytes` and returns their offset; nothing if no free piece is large enough.
  std::optional<size_t> take(size_t bytes);

  /// A piece that is free.
  struct Piece {
    size_t offset;
    size_t bytes;
  };

  /// Gives `bytes` at `offset` back, and tells which free piece they are part of now.
  Piece give(size_t offset, size_t bytes);

 private:
  std::map<size_t, size_t> byOffset_;          ///< Offset → bytes of each free piece.
  std::set<std::pair<size_t, size_t>> bySize_; ///< (bytes, offset) of the same pieces.
};

} // namespace openreg
