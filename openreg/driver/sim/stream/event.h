// Events: a version of an event is a position in a stream.
#pragma once

#include "command.h"
#include "common/event.h"
#include "openreg.h"
#include "point.h"

namespace openreg::sim {

class Device;
struct Simulator;

/// Recording notes how far the stream had been filled; the version is complete when the stream has come so far. Nothing
/// in a queue refers to the event then, but for its time stamp. So it may be destroyed or recorded again at any time,
/// and versions recorded on different streams complete independently of each other.
class Event : public EventBase<Event, Simulator, Device> {
 public:
  /// Where its latest version is complete.
  Point latest();
  Stamp stamp();
  void readTime(Stamp&) {} ///< It is there with the stamp.

  /// Makes a new version on `stream`.
  void record(uint64_t expected, Stream& stream, uint64_t streamHandle);

  /// Sets the time of a version unless a later one has been stamped. On the stream's worker.
  void setTime(uint64_t number);

  /// See EventBase.
  void forget();

 private:
  // Numbers of versions only grow, also from owner to owner: a stamp for a destroyed event finds a newer number.
  uint64_t numbersGiven_ = 0;
  uint64_t latestNumber_ = 0;
  Point latest_;
  uint64_t stampedNumber_ = 0;
  int64_t stampNs_ = 0;
};

} // namespace openreg::sim
