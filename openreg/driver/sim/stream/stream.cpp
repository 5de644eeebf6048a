// A stream's life and its worker.
#include "stream.h"

#include <cxxabi.h>

#include <exception>
#include <string>

#include "common/pause.h"
#include "common/system/threads.h"
#include "sim/device.h"
#include "sim/simulator.h"

namespace openreg::sim {

uint64_t Stream::open(Device& device, int priority) {
  const std::lock_guard lock(queue_.mutex());
  device_.store(&device, std::memory_order_release);
  listed_ = true;
  priority_.store(priority, std::memory_order_relaxed);
  queue_.reopen();
  const uint64_t handle = simulator().streams.publish(*this);
  given_.store(handle, std::memory_order_relaxed);
  return handle;
}

bool Stream::close(uint64_t expected) {
  {
    const std::lock_guard lock(queue_.mutex());
    if (expected == 0 || handle.load() != expected) {
      return false;
    }
    handle.store(0);
    simulator().captures.leave(*this);
    if (working_) {
      queue_.close();
    }
  }
  forgetIfDone();
  return true;
}

/// Of the worker, the last holder of a turn and who destroys the stream, the last to come gives it back.
void Stream::forgetIfDone() {
  {
    const std::lock_guard lock(queue_.mutex());
    if (handle.load() != 0 || working_ || !idle() || !listed_) {
      return;
    }
    listed_ = false;
  }
  device().forget(*this);
}

void Stream::startWorker() {
  const auto last = [this] {
    {
      const std::lock_guard lock(queue_.mutex());
      working_ = false;
    }
    forgetIfDone();
  };
  startThread("or-stream", [this] { work(); }, last);
  working_ = true;
}

void Stream::run(Command& command) {
  try {
    command.run(*this);
  } catch (const abi::__forced_unwind&) {
    throw; // The thread is being ended, which Python does to one that calls it at the end of the process.
  } catch (const std::bad_alloc&) {
    device().fail(orErrorMemoryAllocation, "no host memory"); // A text so short needs none itself.
  } catch (const std::exception& error) {
    device().fail(orErrorLaunchFailure, error.what());
  } catch (...) {
    device().fail(orErrorLaunchFailure, "exception");
  }
}

void Stream::runRecorded(Command& command) {
  const int64_t startNs = nowNs();
  run(command);
  orActivityRecord record = workOf(orActivityKernel, "");
  if (command.correlation != 0 && command.describeWork(record)) {
    record.device = device().index;
    record.stream = handleOf<orStream_t>(given());
    record.correlation = command.correlation;
    record.startNs = startNs;
    record.endNs = nowNs();
    simulator().activity.deliver(record); // Before the stream's progress: who has waited for the work has its record.
  }
}

void Stream::work() {
  Device& owner = device();
  for (;;) {
    const Position at = queue_.progress().now();
    Queue::Header* record = queue_.front(at);
    if (record == nullptr) {
      if (queue_.finished(at)) {
        break;
      }
      queue_.rest(at);
      continue;
    }
    if (Command* command = record->command) { // Null: the gap at the ring's end.
      if (!owner.failure.exists() || command->runsAfterFailure()) {
        if (command->correlation == 0) [[likely]] {
          run(*command);
        } else {
          runRecorded(*command);
        }
      }
      command->~Command();
    }
    queue_.worked();
    queue_.progress().advance(at + record->bytes);
  }
  blocks_ = {};
}

void Stream::waitUnlessLost(Position position) {
  wait(position, [this] { return device().failure.lost().load(); });
}

void Stream::waitForRoom(std::unique_lock<std::mutex>& lock, Position position) {
  lock.unlock(); // Whoever only wants to look at or destroy the stream must not wait for room.
  waitUnlessLost(position);
  if (!reached(position)) {
    require(device().failure.check());
  }
  lock.lock();
}

/// Gives up a turn that has not come: a worker passes its place in the order. False if it has come meanwhile.
bool Stream::dropTurn(Position begin) {
  std::unique_lock lock(queue_.mutex());
  if (reached(begin)) {
    return false;
  }
  if (!working_) { // What stands before this turn are turns of other threads.
    try {
      startWorker();
    } catch (const std::exception&) {
      return false; // The host gives no more threads: then one waits for those.
    }
    if (handle.load() == 0) {
      queue_.close();
    }
  }
  queue_.dropTurn(begin);
  return true;
}

Turn::Turn(Stream& stream, uint64_t expected) : stream_(stream) {
  Queue& queue = stream.queue_;
  std::unique_lock lock(queue.mutex());
  stream.makeRoom(lock, expected, 0);
  queue.place(0, Queue::Kind::Turn);
  begin_ = queue.publish(lock) - sizeof(Queue::Slot);
  stream.waitUnlessLost(begin_);
  if (!stream.reached(begin_)) {
    const orError_t lost = stream.device().failure.check();
    if (lost != orSuccess && stream.dropTurn(begin_)) {
      throw Refused{lost};
    }
    stream.wait(begin_); // The device has been reset, and the turn comes.
  }
  pausePoint("turn");
}

Turn::~Turn() {
  stream_.queue_.endTurn(begin_);
  if (stream_.handle.load() == 0) { // Destroyed meanwhile. Looked at after the turn's end, as close() does inversely.
    stream_.forgetIfDone();
  }
}

} // namespace openreg::sim
