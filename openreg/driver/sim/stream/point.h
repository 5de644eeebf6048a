// A point in the work of a stream.
#pragma once

#include "progress.h"

namespace openreg::sim {

class Stream;

/// Reached when the stream has come so far: for ever, whoever owns the stream by then.
struct Point {
  Stream* stream = nullptr; ///< Null: a point that is always reached.
  Position position = 0;

  bool reached() const;

  /// The same for one who polls: a worker that naps before the point is woken.
  bool poll() const;

  /// Blocks until it is reached, or the stream's device is lost.
  void wait() const;

  bool isOfStream(const Point& other) const { return stream == other.stream; }
  uint64_t order() const { return position; }
};

} // namespace openreg::sim
