// A stream: CUDA's own, and a thread for functions of the host once there are any.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "common/graph/capture.h"
#include "common/lookup.h"
#include "device.h"
#include "event.h"
#include "host_worker.h"

namespace openreg::cuda {

struct Kernel;
struct Place;

/// Objects are reused (HandleTable); the stream of CUDA's belongs to whoever still uses it.
class Stream : public Capturable {
 public:
  /// Gives the stream to an owner; returns its handle.
  uint64_t open(Device& device, int priority);

  /// Makes the handle invalid; work already submitted still runs. False if `expected` is not the handle any more.
  bool close(uint64_t expected);

  Device& device() const { return *device_.load(std::memory_order_acquire); }
  int priority() const { return priority_.load(std::memory_order_relaxed); }

  // The work of openreg.h. `expected` is the handle that the caller was given: work never ends up in a stream with a
  // new owner. `always`: even if the device has failed by then.
  void queueWait(uint64_t expected, const Event& event);
  void queueRecord(uint64_t expected, const Version& version);
  void queueHostFunction(uint64_t expected, orHostFn_t function, void* userData, bool always);
  void queueCopy(uint64_t expected, Place&& dst, Place&& src, size_t size, Device* other);
  void queueFill(uint64_t expected, Place&& dst, int value, size_t size);
  void queueLaunch(
      uint64_t expected,
      const Kernel& kernel,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount);
  void queueGraph(uint64_t expected, const std::shared_ptr<const Device::Program>& program);

  /// Copies, and waits until that is done.
  void copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size);

  /// Whether all work is done.
  bool poll(uint64_t expected);

  /// Blocks until all work submitted so far is done.
  void synchronize(uint64_t expected);

 private:
  using Owned = std::shared_ptr<CUstream_st>;
  Owned held(uint64_t expected) const;

  mutable std::mutex mutex_; ///< Guards the handle's end, and what follows.
  Owned cuda_;
  std::shared_ptr<HostWorker> worker_;
  std::atomic<Device*> device_{nullptr};
  std::atomic<int> priority_{0};
};

} // namespace openreg::cuda
