// One GPU, or a share of one: its context, its memory, and what its work has failed with.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/device.h"
#include "common/graph/graph.h"
#include "library.h"
#include "physical.h"
#include "scratch.h"
#include "services.h"

namespace openreg::cuda {

/// A device and its life: unused, in use, reset to unused.
class Device : public DeviceBase {
 public:
  Device(int index, const Options& options) : DeviceBase(index, options) {}

  /// As DeviceBase's; starts the device if need be and makes its context the thread's.
  orError_t use();

  /// Makes the context the thread's, if there is one.
  void enter() const;

  CUcontext context() const { return context_.load(std::memory_order_acquire); }
  int architecture() const { return 10 * major_ + minor_; }

  // What has failed.

  /// Takes note of what a function of CUDA's has returned, if that is a failure of the device's work.
  void note(CUresult result);

  /// Whether the device has failed, as far as is known without waiting: a kernel tells by a word of pinned memory.
  bool hasFailed();

  /// For synchronising calls: the failure of the device's work, if there is one.
  orError_t surface();

  /// Queues a failure of the device behind the work of a stream; kernels behind it do nothing.
  void failBehind(CUstream stream, orError_t error, const std::string& message);

  // See the functions of common/ that call them.
  void* allocate(size_t size);
  bool release(void* ptr) { return memory.release(ptr); }
  void info(size_t* free, size_t* total) const;
  void describe(orDeviceProp& properties);
  bool reaches(const Device& peer) const;
  void drain();
  void awaitVisitors();
  uint64_t defaultStream();
  uint64_t createStream(int priority);
  void reset();

  /// What a launch of a graph goes through, node by node.
  struct Program {
    GraphNodes nodes;
  };
  std::shared_ptr<const Program> instantiate(const GraphNodes& nodes) const {
    return std::make_shared<const Program>(Program{nodes});
  }

  // Events and words that are used again and again.
  CUevent takeEvent(bool timed);
  void giveEvent(CUevent event, bool timed);
  std::pair<uint32_t*, CUdeviceptr> takeWord();
  void giveWord(uint32_t* word, CUdeviceptr there);

  /// What each kernel on a stream is given beside its arguments, and how many threads there may be for it.
  Services services(CUstream stream, const char* kernelName);
  int multiprocessors() const { return multiprocessors_; }

  Scratches scratches;

 private:
  void identify();
  void start();

  std::mutex starting_;            ///< Of a start and a reset.
  std::atomic<bool> known_{false}; ///< Whether what follows is.
  CUdevice cuda_ = 0;
  int major_ = 0;
  int minor_ = 0;
  int multiprocessors_ = 1;
  std::string name_;
  std::atomic<CUcontext> context_{nullptr};
  Physical physical_{*this};
  Report* report_ = nullptr; ///< Pinned: what a kernel has to say.
  CUdeviceptr reportThere_ = 0;
  CUdeviceptr failedWord_ = 0; ///< In device memory.

  std::mutex mutex_; ///< Guards what follows.
  std::vector<CUevent> events_[2];
  std::vector<std::pair<uint32_t*, CUdeviceptr>> words_;
  friend class Physical;
};

} // namespace openreg::cuda
