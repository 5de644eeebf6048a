// Functions of the host in streams: a thread for each stream.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "library.h"

namespace openreg::cuda {

class Device;

/// CUDA calls all functions of a context (cuLaunchHostFunc) from one thread, one after the other: one that waits would
/// hold up those of other streams, which the contract forbids; and they may not call CUDA. So CUDA's thread only wakes
/// ours, and the stream itself waits for a word of pinned memory that our thread writes.
class HostWorker : public std::enable_shared_from_this<HostWorker> {
 public:
  /// Starts the thread.
  static std::shared_ptr<HostWorker> start(Device& device);

  /// Queues a function. `always`: even if the device has failed by then.
  void queue(CUstream stream, orHostFn_t function, void* userData, bool always);

  /// The stream is no more: the thread ends when it has done what is queued.
  void finish();

 private:
  struct Task {
    std::shared_ptr<HostWorker> worker;
    orHostFn_t function;
    void* userData;
    bool always;
    uint32_t number;
  };

  explicit HostWorker(Device& device) : device_(device) {}
  void run();

  Device& device_;
  uint32_t* done_ = nullptr; ///< Pinned: the number of the last task that is done.
  CUdeviceptr doneThere_ = 0;

  std::mutex queueing_; ///< Numbers must reach a stream in order.
  uint32_t queued_ = 0;

  std::mutex mutex_; ///< Guards what follows.
  std::condition_variable changed_;
  std::deque<Task*> tasks_;
  bool finishing_ = false;
  uint32_t taken_ = 0;
};

} // namespace openreg::cuda
