// A stream's life and its worker.
#include "stream.h"

#include "device.h"
#include "simulator.h"
#include "threads.h"

namespace openreg::sim {

uint64_t Stream::open(Device& device, int priority) {
  const std::lock_guard lock(queue_.mutex());
  device_.store(&device, std::memory_order_release);
  priority_.store(priority, std::memory_order_relaxed);
  queue_.reopen();
  return simulator().streams.publish(*this);
}

bool Stream::close(uint64_t expected) {
  Device& owner = device();
  bool working = false;
  {
    const std::lock_guard lock(queue_.mutex());
    if (expected == 0 || handle.load() != expected) {
      return false;
    }
    handle.store(0);
    working = working_;
  }
  if (working) {
    queue_.close();
  } else {
    owner.forget(*this);
  }
  return true;
}

void Stream::startWorker() {
  Device& owner = device();
  startThread("or-stream", [this] { work(); }, [this, &owner] { owner.forget(*this); });
  working_ = true;
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
        command->run(*this);
      }
      command->~Command();
    }
    queue_.worked();
    queue_.progress().advance(at + record->bytes);
  }
  const std::lock_guard lock(queue_.mutex());
  working_ = false;
  blocks_ = {};
}

Turn::Turn(Stream& stream, uint64_t expected) : queue_(stream.queue_) {
  std::unique_lock lock(queue_.mutex());
  do {
    if (stream.handle.load(std::memory_order_relaxed) != expected) {
      return;
    }
  } while (!queue_.makeRoom(lock, 0));
  queue_.place(0, Queue::Kind::Turn);
  begin_ = queue_.publish(lock) - sizeof(Queue::Slot);
  held_ = true;
  stream.wait(begin_);
}

Turn::~Turn() {
  if (held_) {
    queue_.endTurn(begin_);
  }
}

} // namespace openreg::sim
