// Best fit with joining.
#include "arena.h"

#include <iterator>

namespace openreg {

std::optional<size_t> Arena::take(size_t bytes) {
  const auto fit = bySize_.lower_bound({bytes, 0});
  if (fit == bySize_.end()) {
    return std::nullopt;
  }
  const auto [pieceBytes, offset] = *fit;
  bySize_.erase(fit);
  byOffset_.erase(offset);
  if (pieceBytes > bytes) {
    byOffset_.emplace(offset + bytes, pieceBytes - bytes);
    bySize_.emplace(pieceBytes - bytes, offset + bytes);
  }
  return offset;
}

Arena::Piece Arena::give(size_t offset, size_t bytes) {
  auto next = byOffset_.lower_bound(offset);
  if (next != byOffset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      bySize_.erase({previous->second, previous->first});
      byOffset_.erase(previous);
    }
  }
  if (next != byOffset_.end() && offset + bytes == next->first) {
    bytes += next->second;
    bySize_.erase({next->second, next->first});
    byOffset_.erase(next);
  }
  byOffset_.emplace(offset, bytes);
  bySize_.emplace(bytes, offset);
  return {offset, bytes};
}

} // namespace openreg
