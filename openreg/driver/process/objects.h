// What handles of this driver name. Objects are made once and then reused (common/handle.h).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/event.h"
#include "common/graph/capture.h"
#include "common/handle.h"
#include "openreg.h"

namespace openreg::process {

class Device;
class Event;
struct Host;
struct Kernel;
struct Place;
class Program;

/// A stream: a lane of its device, for as long as it has an owner.
class Stream : public Capturable {
 public:
  Device& device() const { return *device_.load(std::memory_order_acquire); }
  uint32_t lane() const { return lane_.load(std::memory_order_relaxed); }
  int priority() const { return priority_.load(std::memory_order_relaxed); }

  /// For an owner. It has no handle until it is published.
  void open(Device& device, uint32_t lane, int priority) {
    device_.store(&device, std::memory_order_release);
    lane_.store(lane);
    priority_.store(priority);
  }

  /// Makes the handle invalid; false if `expected` is not the handle any more. Work already posted still runs.
  bool close(uint64_t expected);

  // The work of openreg.h (stream_work.cpp). `expected` is the handle the caller was given: so work never ends up in a
  // stream with a new owner.
  void queueWait(uint64_t expected, Event& event);
  /// In host_function.cpp. `always`: even if the device has failed by then.
  void queueHostFunction(uint64_t expected, orHostFn_t function, void* userData, bool always);
  void queueCopy(uint64_t expected, const Place& dst, const Place& src, size_t size, Device* other);
  void queueFill(uint64_t expected, const Place& dst, int value, size_t size);
  void queueLaunch(
      uint64_t expected,
      const Kernel& kernel,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount);

  void queueGraph(uint64_t expected, const std::shared_ptr<const Program>& program);

  /// Waits for the stream, and for the copy if it is not done by then.
  void copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size);

  /// Whether all work is done.
  bool poll(uint64_t expected);

  /// Blocks until all work submitted so far is done, or the device is lost.
  void synchronize(uint64_t expected);

 private:
  std::atomic<Device*> device_{nullptr};
  std::atomic<uint32_t> lane_{0};
  std::atomic<int> priority_{0};
};

/// A stream for a call that posts to it more than once, or waits for it in between: its lane stays, so that the call
/// goes on although another thread destroys the stream meanwhile. A reset of the device makes this handle invalid, too.
class HeldStream final : public Stream {
 public:
  HeldStream(const Stream& stream, uint64_t expected);
  ~HeldStream();
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  uint64_t number = 0; ///< They are counted in the order in which they began. Guarded by the device's mutex.
};

/// An instantiated graph. The executor has its nodes, and is only told to launch them; but functions of the host are
/// called here, so that the graph is cut into parts where it has some.
class Program {
 public:
  /// Nodes from `first` on, which the executor knows as a graph of its own; or, if they are none, that function.
  struct Part {
    uint32_t graph;
    size_t first;
    size_t count;
  };

  Program(Device& device, GraphNodes nodes) : nodes(std::move(nodes)), device_(device) {}
  ~Program(); ///< The executor is told that its graphs are not needed any more.
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  GraphNodes nodes;
  std::vector<Part> parts;
  std::vector<Device*> peers; ///< Whose memory it uses.
  uint64_t life = 0;          ///< Of its device.

 private:
  Device& device_;
};

/// A point in the work of a lane: reached when the lane's fence is.
struct Point {
  Device* device = nullptr; ///< Null: a point that is always reached.
  uint32_t lane = 0;
  uint64_t value = 0;

  bool reached() const;
  bool poll() const { return reached(); }

  /// Blocks until it is reached, its device lost or reset.
  void wait() const;

  bool isOfStream(const Point& other) const { return device == other.device && lane == other.lane; }
  uint64_t order() const { return value; }
};

/// An event: the point at which it was recorded last.
class Event : public EventBase<Event, Host, Device> {
 public:
  /// What was recorded last.
  struct Version {
    bool recorded = false;
    Point point;
    int64_t ns = 0; ///< The time, if it was known when it was recorded; else 0, and the executor has it.
  };

  Point latest() { return version().point; }
  Stamp stamp();

  /// Asks the executor for the time of a stamp that is complete, unless it is known.
  void readTime(Stamp& stamp);

  /// Makes a new version on `stream`.
  void record(uint64_t expected, Stream& stream, uint64_t streamHandle);

  /// The number of the next version. They only grow, from owner to owner too: the executor tells old times by them.
  uint64_t nextVersion() { return versions_.fetch_add(1) + 1; }

  /// Makes `version` the latest.
  void set(uint64_t expected, const Version& version);

  /// See EventBase.
  void forget() { latest_ = {}; }

 private:
  Version version();

  std::atomic<uint64_t> versions_{0};
  Version latest_;
};

/// A module that an executor has loaded.
struct Module : Handled {
  std::atomic<Device*> device{nullptr};
  uint64_t remote = 0; ///< The executor's handle. Guarded by the host's modulesMutex.
};

/// A kernel of such a module. Written before the handle is published; atomic, as who launches has no lock, and a reset
/// may give the object to another kernel meanwhile. (Then the stream is gone, too, and nothing is launched.)
struct Kernel : Handled {
  std::atomic<Device*> device{nullptr};
  std::atomic<const char*> text{nullptr}; ///< Its name. Lives as long as the host.
  std::atomic<uint64_t> remote{0};
  std::atomic<size_t> fewest{0}; ///< Argument bytes.

  const char* name() const { return text.load(); }
  size_t minArgsSize() const { return fewest.load(); }
};

} // namespace openreg::process
