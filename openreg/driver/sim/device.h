// One simulated device.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "common/device.h"
#include "common/visits.h"
#include "graph.h"
#include "sim/stream/point.h"

namespace openreg::sim {

class Stream;

/// A device and its life: unused, in use, reset to unused.
class Device : public DeviceBase {
 public:
  Device(int index, const Options& options);

  std::atomic<int64_t> kernelDelayNs;
  std::atomic<int64_t> copyDelayNs;

  /// For synchronising calls: the failure of the device's work, if there is one.
  orError_t surface() { return failure.surface(); }

  // Memory.
  void* allocate(size_t size);
  bool release(void* ptr) { return memory.release(ptr); }
  void info(size_t* free, size_t* total) const;

  // Graphs; see GraphCalls.
  using Program = sim::Program;
  std::shared_ptr<const Program> instantiate(const GraphNodes& nodes) { return std::make_shared<Program>(nodes); }

  // Memory shared between processes; see IpcCalls.
  std::optional<orIpcMemHandle> share(const char* base);
  void* open(const SharedPart& part);
  bool close(const char* base) { return memory.close(base); }

  /// The handle of the default stream; made at the first call. 0 if there are too many streams.
  uint64_t defaultStream();

  /// The handle of a new stream; 0 if there are too many. Not the stream: a reset may take it back before one looks.
  uint64_t createStream(int priority);

  /// A destroyed stream has done all its work.
  void forget(Stream& stream);

  /// Blocks until all that has been submitted to its streams is done, or it is lost.
  void drain();

  /// Until `end`, a stream of another device may use this one's memory.
  void noteVisit(const Point& end) { visitors_.note(end); }

  /// Blocks until that is over. Not even the loss of the other device ends it sooner: what is running there goes on
  /// using the memory, which is to have a new owner.
  void awaitVisitors();

  /// Work has failed: queued work will be dropped, and whoever waits inside a stream goes on.
  void fail(orError_t error, const std::string& message);

  /// For tests: each kernel, and each copy or fill, takes so much longer.
  void setDelay(int64_t kernelNs, int64_t copyNs) {
    kernelDelayNs.store(kernelNs);
    copyDelayNs.store(copyNs);
  }

  /// The device is gone, for every call from now on.
  void lose();

  /// Makes the calling worker (or a host thread that copies) take longer; ends early if the device fails.
  void delay(int64_t ns);

  void reset();

 private:
  void releaseWaiters();

  Visitors<Point> visitors_;
  std::mutex resetMutex_;        ///< One reset at a time.
  std::mutex mutex_;             ///< Guards what follows.
  std::vector<Stream*> streams_; ///< Also destroyed ones that still have work.
};

} // namespace openreg::sim
