// The lanes of a device: streams, and the work they are given.
#include "device.h"
#include "process/host.h"

namespace openreg::process {

Fence& Device::fence(uint32_t lane) const {
  return board().streams[lane];
}

bool Device::reached(uint32_t lane, uint64_t value) const {
  const uint64_t now = fence(lane).value.load(std::memory_order_acquire);
  if (now > posted_[lane].load(std::memory_order_acquire)) [[unlikely]] {
    astray_.store(1 + uint64_t{lane}); // Who asks may hold locks; surface() sees to it.
    return false;
  }
  return now >= value;
}

Lane* Device::freeLane() {
  for (const auto& lane : lanes_) {
    if (!lane->owned && lane->held.empty() && !lane->unfenced &&
        (lane->fenced == 0 || reached(lane->number, lane->fenced))) {
      return lane.get();
    }
  }
  if (lanes_.size() == kMaxStreams) {
    return nullptr;
  }
  return lanes_.emplace_back(std::make_unique<Lane>(static_cast<uint32_t>(lanes_.size()))).get();
}

uint64_t Device::createStream(int priority) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return !resetting_; });
  Lane* lane = freeLane();
  Stream* stream = lane != nullptr ? host_.streams.acquire() : nullptr;
  if (stream == nullptr) {
    return 0;
  }
  lane->owned = true;
  stream->open(*this, lane->number, priority);
  return host_.streams.publish(*stream);
}

uint64_t Device::defaultStream() {
  return findOrMakeDefault(host_.streams, [this] { return createStream(0); });
}

bool Device::destroyStream(Stream& stream, uint64_t expected) {
  {
    const std::lock_guard lock(mutex_);
    if (expected == 0 || stream.handle.load() != expected) {
      return false;
    }
    stream.handle.store(0);
    host_.captures.leave(stream);
    Lane& lane = *lanes_[stream.lane()];
    lane.owned = false;
    if (lane.held.empty()) {
      retire(lane);
    }
  }
  host_.streams.release(stream);
  return true;
}

/// Nobody posts to the lane any more.
void Device::retire(Lane& lane) {
  if (!lane.known || executor_ == nullptr) {
    return;
  }
  if (lane.unfenced) {
    putFence(lane); // The lane is free for another stream once this is reached.
  }
  executor_->post(Kind::StreamDestroy, {pieceOf(StreamFrame{.stream = lane.number})});
  lane.known = false;
}

void Device::hold(HeldStream& held, const Stream& stream, uint64_t expected) {
  const std::lock_guard lock(mutex_);
  Lane& lane = laneOf(stream, expected);
  lane.held.push_back(&held);
  held.number = ++holds_;
  held.open(*this, lane.number, stream.priority());
  held.handle.store(expected);
}

void Device::letGo(HeldStream& held) {
  {
    const std::lock_guard lock(mutex_);
    Lane& lane = *lanes_[held.lane()];
    std::erase(lane.held, &held);
    if (!lane.owned && lane.held.empty()) {
      retire(lane);
    }
  }
  letGo_.notify_all();
}

/// The lane of a stream that still has its handle.
Lane& Device::laneOf(const Stream& stream, uint64_t expected) {
  requireStill(stream, expected);
  return *lanes_[stream.lane()];
}

Lane& Device::admit(std::unique_lock<std::mutex>& lock, Stream& stream, uint64_t expected) {
  for (;;) {
    Lane& lane = laneOf(stream, expected);
    if (executor_ == nullptr) {
      start(lock);
      continue; // The lock was given up: the stream may be gone.
    }
    const Point blocked{this, lane.number, lane.blockedBy()};
    if (blocked.value == 0) {
      if (!lane.known) {
        const StreamFrame frame{.stream = lane.number, .priority = stream.priority()};
        executor_->post(Kind::StreamCreate, {pieceOf(frame)});
        lane.known = true;
      }
      return lane;
    }
    if (blocked.reached()) {
      lane.unblock();
      continue;
    }
    lock.unlock(); // Whoever only wants to look at or destroy the stream must not wait for room.
    wait(blocked);
    lock.lock();
    require(failure.check()); // An executor that is lost will never make room.
  }
}

void Device::expectRecord(const orActivityRecord& work, uint64_t stream) {
  orActivityRecord known = work;
  known.device = index;
  known.stream = openreg::handleOf<orStream_t>(stream);
  executor_->recorder().expect(known); // Before the frame is posted: the executor may be faster than we are.
  records_.store(true, std::memory_order_relaxed);
}

void Device::put(Lane& lane, Kind kind, std::initializer_list<Piece> pieces) {
  executor_->post(kind, pieces);
  lane.unfenced = true;
  uint64_t bytes = Lane::kOverhead;
  for (const Piece piece : pieces) {
    bytes += piece.size();
  }
  if (lane.add(bytes)) {
    putFence(lane);
  }
}

uint64_t Device::putFence(Lane& lane, uint32_t event, uint64_t version) {
  lane.unfenced = false;
  const FenceFrame frame{.stream = lane.number, .event = event, .value = ++lane.fenced, .version = version};
  posted_[lane.number].store(lane.fenced, std::memory_order_release); // Before anybody can say that it was reached.
  if (executor_ == nullptr) {
    return lane.fenced; // A reset is under way, which passes all fences at its end.
  }
  executor_->post(Kind::Fence, {pieceOf(frame)});
  if (lane.add(Lane::kOverhead)) {
    lane.endPart();
  }
  return lane.fenced;
}

} // namespace openreg::process
