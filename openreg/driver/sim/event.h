// Events: a version of an event is a position in a stream.
#pragma once

#include <atomic>
#include <mutex>

#include "command.h"
#include "handle.h"
#include "openreg.h"
#include "queue.h"

namespace openreg::sim {

class Device;

/// Recording notes how far the stream had been filled; the version is complete when the stream has come so far. Nothing
/// in a queue refers to the event then, but for its time stamp. So it may be destroyed or recorded again at any time,
/// and versions recorded on different streams complete independently of each other.
class Event : public Handled {
 public:
  /// A version as a waiter sees it.
  struct Version {
    Stream* source = nullptr; ///< Null: never recorded.
    Position position = 0;

    bool complete() const;
  };

  /// What orEventElapsedTime needs.
  struct Stamp {
    bool recorded = false;
    bool complete = false;
    int64_t ns = 0;
  };

  uint64_t open(Device& device, unsigned int flags); ///< Returns the handle.

  /// Makes the handle invalid; false if `expected` is not the handle any more.
  bool close(uint64_t expected);

  Device& device() const { return *device_.load(std::memory_order_acquire); }
  bool timed() const { return timed_.load(std::memory_order_relaxed); }

  Version latest();
  Stamp stamp();

  /// Makes a new version on `stream`.
  orError_t record(uint64_t expected, Stream& stream, uint64_t streamHandle);

  /// Sets the time of a version unless a later one has been stamped. On the stream's worker.
  void setTime(uint64_t number);

 private:
  std::mutex mutex_;
  std::atomic<Device*> device_{nullptr};
  std::atomic<bool> timed_{true};
  // Numbers of versions only grow, also from owner to owner: a stamp for a destroyed event finds a newer number.
  uint64_t numbersGiven_ = 0;
  uint64_t latestNumber_ = 0;
  Version latest_;
  uint64_t stampedNumber_ = 0;
  int64_t stampNs_ = 0;
};

} // namespace openreg::sim
