// What the host knows of a stream's work.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace openreg::process {

class HeldStream;

/// A stream's number on the wire, and how far it has been filled. A lane outlives the stream: its fences only grow, so
/// that a point of an earlier owner stays a good one. Guarded by its device's mutex.
///
/// Only so much of its work may be under way: the executor takes frames out of the ring without ever waiting for a
/// stream, so its own queue for the stream must never be full. The host sees to that: after each part of its work it
/// posts a fence, and while there are as many parts as there may be, the oldest must be done before more is posted.
class Lane {
 public:
  explicit Lane(uint32_t number) : number(number) {}

  const uint32_t number;
  bool owned = false;            ///< A stream has it.
  bool known = false;            ///< The executor has been told of that stream, at its first work.
  bool unfenced = false;         ///< There is work behind the last fence.
  std::vector<HeldStream*> held; ///< By calls that are not done with it.
  uint64_t fenced = 0;           ///< Value of the last fence posted.
  uint64_t hostFenced = 0;       ///< Of the last FenceKind::Host that the stream waits for.

  /// What its fence will be once all its work is done, whether that fence has been posted or is still to come.
  uint64_t end() const { return fenced + (unfenced ? 1 : 0); }

  static constexpr uint64_t kOverhead = 192; ///< What a piece of work takes in the executor's queue besides its frame.

  /// The fence that must be reached before anything may be posted; 0 if none.
  uint64_t blockedBy() const { return parts_ == fences_.size() ? fences_[0] : 0; }

  /// That fence has been reached.
  void unblock() {
    std::shift_left(fences_.begin(), fences_.end(), 1);
    --parts_;
  }

  /// Bytes have been posted. True if a part is full: end it by a fence, and say so.
  bool add(uint64_t bytes) { return (bytes_ += bytes) >= kPartBytes && parts_ < fences_.size(); }
  void endPart() {
    fences_[parts_++] = fenced;
    bytes_ = 0;
  }

  /// The device is reset. Somebody may have been told of the fence that would have come.
  void startAnew() {
    fenced = end();
    owned = known = unfenced = false;
    parts_ = 0;
    bytes_ = 0;
  }

 private:
  static constexpr uint64_t kPartBytes = 40 * 1024; ///< Four parts and a frame fit into sim::Queue::kBytes.

  std::array<uint64_t, 3> fences_{}; ///< Of the parts that are full, the oldest first.
  size_t parts_ = 0;
  uint64_t bytes_ = 0; ///< Of the part that is being filled.
};

} // namespace openreg::process
