// The executor's end of a ring of frames.
#pragma once

#include <stdexcept>

#include "common/system/placement.h"
#include "process/wire/channel.h"
#include "process/wire/frames.h"

namespace openreg::process {

/// A frame that no host would send: nothing that follows can be trusted.
struct Garbled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RingReader {
 public:
  explicit RingReader(Ring& ring) : ring_(ring) {}

  /// The next frame, or null if there is none. Throws Garbled.
  const Header* next();

  /// Gives the frame's bytes back.
  void done(const Header& frame) {
    ring_.taken.advance(taken_ += frame.bytes, [this] { return ring_.sleepers.load() != 0; });
  }

  // LITERALINCLUDE START: RING REST
  /// Rests until there may be something: spins, naps, then sleeps. `wait(timeoutNs)` waits for the doorbell.
  template <class Wait>
  void rest(Wait wait) {
    const auto more = [this] { return ring_.written.load() != taken_; };
    if (spinUntil(ring_.writerCpu, more)) {
      naps_ = 0;
      return;
    }
    const bool nap = naps_ < kNaps;
    ring_.rest.store(nap ? Rest::Napping : Rest::Asleep);
    if (!more()) { // Looked at after the store: one of writer and reader sees the other.
      wait(nap ? kNapNs : -1);
    }
    ring_.rest.store(Rest::Awake);
    naps_ = more() ? 0 : naps_ + 1;
  }
  // LITERALINCLUDE END: RING REST

 private:
  static constexpr int kNaps = 30; ///< As in sim::Queue.
  static constexpr int64_t kNapNs = 20'000;

  Ring& ring_;
  uint64_t taken_ = 0;
  uint64_t numbered_ = 0;
  int naps_ = 0;
};

} // namespace openreg::process
