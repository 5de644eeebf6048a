// What handles of this driver name. As in the simulator, objects are made once and then reused (sim/handle.h).
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "sim/handle.h"

namespace openreg::process {

class Device;

/// A stream: a lane of its device, for as long as it has an owner.
struct Stream : sim::Handled {
  std::atomic<Device*> device{nullptr};
  std::atomic<uint32_t> lane{0};
  std::atomic<int> priority{0};
};

/// A point in the work of a lane: reached when the lane's fence is.
struct Point {
  Device* device = nullptr; ///< Null: a point that is always reached.
  uint32_t lane = 0;
  uint64_t value = 0;

  bool reached() const;
};

/// An event: the point at which it was recorded last.
class Event : public sim::Handled {
 public:
  uint64_t open(Device& device, bool timed); ///< Returns the handle.

  /// Makes the handle invalid; false if `expected` is not the handle any more.
  bool close(uint64_t expected);

  Device& device() const { return *device_.load(std::memory_order_acquire); }
  bool timed() const { return timed_.load(std::memory_order_relaxed); }

  /// What was recorded last.
  struct Version {
    bool recorded = false;
    Point point;
    int64_t ns = 0; ///< The time, if it was known when it was recorded; else 0, and the executor has it.
  };
  Version latest();

  /// The number of the next version. They only grow, from owner to owner too: the executor tells old times by them.
  uint64_t nextVersion() { return versions_.fetch_add(1) + 1; }

  /// Makes `version` the latest; false if `expected` is not the handle any more.
  bool record(uint64_t expected, const Version& version);

 private:
  std::mutex mutex_;
  std::atomic<Device*> device_{nullptr};
  std::atomic<bool> timed_{true};
  std::atomic<uint64_t> versions_{0};
  Version latest_;
};

/// A module that an executor has loaded.
struct Module : sim::Handled {
  std::atomic<Device*> device{nullptr};
  uint64_t remote = 0; ///< The executor's handle. Guarded by the host's modulesMutex.
};

/// A kernel of such a module. Written before the handle is published; atomic, as who launches has no lock, and a reset
/// may give the object to another kernel meanwhile. (Then the stream is gone, too, and nothing is launched.)
struct Kernel : sim::Handled {
  std::atomic<Device*> device{nullptr};
  std::atomic<const char*> name{nullptr}; ///< Lives as long as the host.
  std::atomic<uint64_t> remote{0};
  std::atomic<size_t> minArgsSize{0};
};

/// A gate of openreg_sim.h. Executors see its place on the board.
struct Gate : sim::Handled {
  std::mutex mutex;
  std::string name; ///< Guarded by the mutex, as what follows.
  int64_t deadlineNs = 0;
  bool open = false;
};

} // namespace openreg::process
