// The producers' half of the queue, and the worker's rest.
#include "queue.h"

#include <new>
#include <utility>

#include "common/pause.h"

namespace openreg::sim {

namespace {

constexpr uint64_t recordBytes(size_t payload) {
  return (sizeof(Queue::Header) + payload + sizeof(Queue::Slot) - 1) / sizeof(Queue::Slot) * sizeof(Queue::Slot);
}

} // namespace

Position Queue::roomBehind(size_t payload) {
  if (!ring_) {
    ring_.reset(new Slot[kBytes / sizeof(Slot)]); // Not initialised: pages appear as they are used.
  }
  const Position head = submitted();
  const uint64_t bytes = recordBytes(payload);
  const uint64_t offset = head % kBytes;
  const Position end = head + bytes + (offset + bytes > kBytes ? kBytes - offset : 0);
  if (end - progressSeen_ <= kBytes) {
    return 0;
  }
  progressSeen_ = progress_.now();
  return end - progressSeen_ <= kBytes ? 0 : end - kBytes;
}

void* Queue::place(size_t payload, Kind kind) {
  const Position head = submitted();
  const uint64_t bytes = recordBytes(payload);
  uint64_t offset = head % kBytes;
  placedBytes_ = bytes;
  unsigned char* ring = ring_.get()->bytes;
  if (offset + bytes > kBytes) {
    new (ring + offset) Header{static_cast<uint32_t>(kBytes - offset), Kind::Gap, nullptr};
    placedBytes_ += kBytes - offset;
    offset = 0;
  }
  placed_ = new (ring + offset) Header{static_cast<uint32_t>(bytes), kind, nullptr};
  return placed_ + 1;
}

Position Queue::publish(std::unique_lock<std::mutex>& lock) {
  const bool forWorker = placed_->kind == Kind::Command;
  producer_.note();
  if (!forWorker) {
    lastTurn_.store(submitted() + placedBytes_, std::memory_order_relaxed); // Seen by who sees the new head.
  }
  const Position end = submitted() + placedBytes_;
  head_.store(end);
  const Rest rest = rest_.load();
  lock.unlock(); // Before waking: the woken thread should find the lock free.
  if (forWorker && (rest == Rest::Asleep || (rest == Rest::Napping && end - progress_.now() > kBacklog))) {
    rouse();
  }
  return end;
}

void Queue::rouse() {
  wake_.store(1);
  futexWakeAll(wake_);
}

void Queue::nudge() {
  if (rest_.load() != Rest::Awake && submitted() != progress_.now()) {
    rouse();
  }
}

void Queue::endTurn(Position begin) {
  const Position end = begin + recordBytes(0);
  progress_.advance(end);
  // The worker may have gone to sleep before our turn. It looks at `progress` after it has set its state, and we look
  // at its state after having moved `progress`: one of the two sees the other.
  if (rest_.load() != Rest::Awake && (submitted() != end || closed_.load())) {
    rouse();
  }
}

Queue::Header* Queue::headerAt(Position at) {
  return std::launder(reinterpret_cast<Header*>(ring_.get()->bytes + at % kBytes));
}

Queue::Header* Queue::front(Position at) {
  if (submitted() == at) {
    return nullptr;
  }
  // Past a command only the worker itself moves `progress`, so its record stays. A turn's holder does that at any
  // moment, and then its record may be written anew, while we read it. So where there is a turn at or behind `at`, we
  // look under the producers' lock, and whether we are still at the front.
  if (lastTurn_.load(std::memory_order_relaxed) <= at) {
    return headerAt(at);
  }
  pausePoint("front");
  const std::lock_guard lock(mutex_);
  if (progress_.now() != at) {
    return nullptr;
  }
  Header* header = headerAt(at);
  return header->kind == Kind::Turn ? nullptr : header;
}

void Queue::rest(Position at) {
  const Position seen = submitted();
  if (progress_.now() != at || front(at) != nullptr) {
    return;
  }
  const auto changed = [&] { return submitted() != seen || progress_.now() != at || finished(at); };
  if (at - std::exchange(restedAt_, at) > kBacklog) {
    producer_.leave(); // Where the two alternate, one core is the best place for both. But work has piled up.
  }
  progress_.noteMover();
  if (producer_.spinUntil(changed)) {
    return;
  }
  wake_.store(0);
  const bool nap = naps_ < kNaps;
  rest_.store(nap ? Rest::Napping : Rest::Asleep);
  if (nap) {
    ++naps_;
    if (!changed() && wake_.load() == 0) {
      futexWait(wake_, 0, kNapNs);
    }
  } else {
    while (!changed() && wake_.load() == 0) {
      futexWait(wake_, 0);
    }
  }
  rest_.store(Rest::Awake);
}

void Queue::close() {
  closed_.store(true);
  rouse();
}

} // namespace openreg::sim
