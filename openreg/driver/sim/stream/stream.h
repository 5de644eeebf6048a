// A stream: a queue and the worker thread that empties it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "api/state.h"
#include "common/graph/capture.h"
#include "common/lookup.h"
#include "queue.h"
#include "sim/block_cache.h"

namespace openreg::sim {

class Device;
class Event;
struct Kernel;
struct Place;
struct Program;

/// Has no thread until work is submitted that the caller cannot do itself. Objects are reused (HandleTable).
class Stream : public Capturable {
 public:
  /// Gives the stream to an owner; returns its handle.
  uint64_t open(Device& device, int priority);

  /// Makes the handle invalid; work already submitted still runs. False if `expected` is not the handle any more.
  bool close(uint64_t expected);
  void close() { close(handle.load()); }

  Device& device() const { return *device_.load(std::memory_order_acquire); }
  /// The handle that its owner was given, valid or not any more.
  uint64_t given() const { return given_.load(std::memory_order_relaxed); }

  int priority() const { return priority_.load(std::memory_order_relaxed); }

  /// Queues a C made of `args`, with `extra` bytes of memory behind it. `expected` is the handle the caller was given:
  /// compared under the lock, so that work never ends up in a stream with a new owner. Returns the position behind the
  /// command.
  template <class C, class... Args>
  Position submitWith(size_t extra, uint64_t expected, Args&&... args) {
    std::unique_lock lock(queue_.mutex());
    makeRoom(lock, expected, sizeof(C) + extra);
    if (!working_) [[unlikely]] {
      startWorker();
    }
    void* place = queue_.place(sizeof(C) + extra, Queue::Kind::Command);
    Command* command = new (place) C(std::forward<Args>(args)...);
    command->correlation = api::thread.correlation;
    queue_.setCommand(command);
    return queue_.publish(lock);
  }
  template <class C, class... Args>
  Position submit(uint64_t expected, Args&&... args) {
    return submitWith<C>(0, expected, std::forward<Args>(args)...);
  }

  // The work of openreg.h (stream_work.cpp); `expected` as above. `always`: even if the device has failed by then.
  void queueWait(uint64_t expected, Event& event);
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

  void queueGraph(uint64_t expected, const std::shared_ptr<const Program>& program);
  /// The same where the caller has seen to it that host memory of the graph's copies stays: `held` does that.
  void queueGraph(
      uint64_t expected, const std::shared_ptr<const Program>& program, std::vector<std::shared_ptr<const void>> held);

  /// Copies in the calling thread, at its turn: no hand-over, no wake-up, and on an idle stream no thread.
  void copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size);

  /// Whether all work is done; for one who asks again and again.
  bool poll(uint64_t expected);

  /// Blocks until all work submitted so far is done, or the device is lost.
  void synchronize(uint64_t expected);

  Position submitted() const { return queue_.submitted(); }
  bool reached(Position position) const { return queue_.progress().reached(position); }
  bool idle() const { return reached(submitted()); }

  /// For one who polls: a worker that naps beside waiting work is woken.
  void nudge() { queue_.nudge(); }

  /// Blocks until the work before `position` is done, or `released()`, of which releaseWaiters() tells.
  template <class Released>
  void wait(Position position, Released released) {
    if (!reached(position)) {
      queue_.nudge();
      queue_.progress().wait(position, released);
    }
  }
  void wait(Position position) {
    wait(position, [] { return false; });
  }

  /// The same for a host thread: it is released when the device is lost, even if that has a kernel running.
  void waitUnlessLost(Position position);

  void interruptWaiters() { queue_.progress().interrupt(); }

  /// For the worker.
  BlockCache& blocks() { return blocks_; }

 private:
  friend class Turn;

  /// Kernels may use memory of peers until `end`.
  void noteVisits(Position end);

  void startWorker();
  void work();
  void run(Command& command);
  void runRecorded(Command& command);
  void forgetIfDone();
  bool dropTurn(Position begin);
  void waitForRoom(std::unique_lock<std::mutex>& lock, Position position);

  /// Waits until a record with `payload` bytes fits. The lock may be given up meanwhile: hence the handle.
  void makeRoom(std::unique_lock<std::mutex>& lock, uint64_t expected, size_t payload) {
    requireStill(*this, expected);
    while (const Position position = queue_.roomBehind(payload)) {
      waitForRoom(lock, position);
      requireStill(*this, expected);
    }
  }

  Queue queue_;
  std::atomic<Device*> device_{nullptr};
  std::atomic<int> priority_{0};
  std::atomic<uint64_t> given_{0}; ///< The handle, also after its end: for records.
  bool working_ = false;           ///< Guarded by the queue's mutex, as the next.
  bool listed_ = false;            ///< The device has it in its list.
  BlockCache blocks_;              ///< The worker's own.
};

/// A host thread's own place in a stream's order. The constructor waits until all work submitted before is done; what
/// is submitted after it waits for the destructor. In between the thread does its piece of the stream's work by itself,
/// which on an idle stream needs no worker at all.
class Turn {
 public:
  /// @param expected The handle the caller was given; if it is not valid any more, or the device is lost before, the
  /// call is refused.
  Turn(Stream& stream, uint64_t expected);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Stream& stream_;
  Position begin_ = 0;
};

} // namespace openreg::sim
