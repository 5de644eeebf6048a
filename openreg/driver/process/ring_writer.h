// The host's end of a ring of frames.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <span>

#include "wire/channel.h"
#include "wire/frames.h"

namespace openreg::process {

/// Bytes of a frame, in pieces that are put one behind the other.
using Piece = std::span<const std::byte>;

/// A payload as a piece.
template <class T>
Piece pieceOf(const T& payload) {
  return std::as_bytes(std::span(&payload, 1));
}

/// How soon the executor should look.
enum class Urgency {
  Soon, ///< Within its nap: nobody waits yet.
  Now   ///< Somebody waits.
};

class RingWriter {
 public:
  explicit RingWriter(Ring& ring) : ring_(ring) {}

  /// Puts a frame. Blocks while the ring is full, until `givenUp()`, which is looked at least once in `sliceNs`.
  /// @param doorbell Receives whether the executor sleeps and must be woken.
  /// @return The frame's number, 0 if it was given up.
  template <class GivenUp>
  uint64_t
  put(Header header,
      std::initializer_list<Piece> pieces,
      Urgency urgency,
      bool& doorbell,
      int64_t sliceNs,
      GivenUp givenUp) {
    for (const Piece piece : pieces) {
      header.payload += static_cast<uint32_t>(piece.size());
    }
    header.bytes = (sizeof(Header) + header.payload + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
    const std::lock_guard lock(mutex_);
    const uint64_t end = endOf(header.bytes);
    if (end > Ring::kBytes && !ring_.taken.wait(end - Ring::kBytes, sliceNs, givenUp)) {
      return 0;
    }
    write(header, pieces);
    doorbell = publish(urgency);
    return numbered_;
  }

 private:
  uint64_t endOf(uint32_t bytes) const;
  void write(Header header, std::initializer_list<Piece> pieces);
  bool publish(Urgency urgency);

  Ring& ring_;
  std::mutex mutex_;
  uint64_t written_ = 0;
  uint64_t numbered_ = 0; ///< Of the last frame.
};

} // namespace openreg::process
