// The host's end of a ring of frames.
#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <span>

#include "process/wire/channel.h"
#include "process/wire/frames.h"

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
  /// @return The frame's number, 0 if it was given up, or if the executor has taken what was not there (`impossible`).
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
    if (const uint64_t end = endOf(header.bytes); end > Ring::kBytes) {
      if (!ring_.taken.wait(end - Ring::kBytes, sliceNs, ring_.sleepers, givenUp)) {
        return 0;
      }
      if (ring_.taken.value.load() > written_) { // To believe it would be to overwrite what has not been read.
        impossible_.store(true);
        return 0;
      }
    }
    write(header, pieces);
    doorbell = publish(urgency);
    return numbered_;
  }

  /// Bytes that have been put so far.
  uint64_t written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }

  bool impossible() const { return impossible_.load(); }

 private:
  uint64_t endOf(uint32_t bytes) const;
  void write(Header header, std::initializer_list<Piece> pieces);
  bool publish(Urgency urgency);

  Ring& ring_;
  std::mutex mutex_;
  std::atomic<bool> impossible_{false};
  uint64_t written_ = 0;
  uint64_t numbered_ = 0; ///< Of the last frame.
};

} // namespace openreg::process
