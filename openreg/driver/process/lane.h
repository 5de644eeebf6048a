// What the host knows of a stream's work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace openreg::process {

/// How much of a stream's work may be under way: the executor takes frames out of the ring without ever waiting for a
/// stream, so its own queue for the stream must never be full. The host sees to that: after each part of the window it
/// posts a fence, and before more is posted the oldest part must be done.
class Window {
 public:
  static constexpr uint64_t kPartBytes = 40 * 1024; ///< Four parts and a frame fit into sim::Queue::kBytes.

  static constexpr uint64_t kOverhead = 192; ///< What a piece of work takes in that queue besides its frame.

  /// The fence that must be reached before anything may be posted; 0 if none.
  uint64_t blockedBy() const { return used_ == parts_.size() ? parts_[0] : 0; }

  /// The oldest part is done.
  void advance();

  /// Bytes have been posted. True if a part is full: end it by a fence, and say so.
  bool add(uint64_t bytes) { return (bytes_ += bytes) >= kPartBytes && used_ < parts_.size(); }
  void endPart(uint64_t fence);

 private:
  std::array<uint64_t, 3> parts_{}; ///< Fences, the oldest first.
  size_t used_ = 0;
  uint64_t bytes_ = 0;
};

/// A stream's number on the wire, and how far it has been filled. A lane outlives the stream: its fences only grow, so
/// that a point of an earlier owner stays a good one. Guarded by its device's mutex.
struct Lane {
  explicit Lane(uint32_t number) : number(number) {}

  const uint32_t number;
  bool owned = false;      ///< A stream has it.
  bool known = false;      ///< The executor has been told of that stream, at its first work.
  bool unfenced = false;   ///< There is work behind the last fence.
  uint64_t fenced = 0;     ///< Value of the last fence posted.
  uint64_t hostFenced = 0; ///< Of the last FenceKind::Host promised.
  Window window;

  /// The device is reset.
  void startAnew() {
    owned = known = false;
    fenced += unfenced ? 1 : 0; // Somebody may have been told of the fence that would have come.
    unfenced = false;
    window = {};
  }
};

} // namespace openreg::process
