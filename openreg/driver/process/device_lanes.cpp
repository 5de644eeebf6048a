// The lanes of a device: streams, posted work, waiting.
#include <algorithm>

#include "device.h"
#include "host.h"
#include "openreg_driver.h"

namespace openreg::process {

namespace {

constexpr uint64_t kOverhead = 192; ///< What a piece of work takes in an executor's queue besides its frame.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -1;

orError_t invalid(uint64_t handle) {
  return sim::invalidHandle("stream", "a stream", handle);
}

} // namespace

Fence& Device::fence(uint32_t lane) const {
  return board().streams[lane].device;
}

Lane* Device::freeLane() {
  for (const auto& lane : lanes_) {
    if (!lane->owned && !lane->unfenced && (lane->fenced == 0 || fence(lane->number).reached(lane->fenced))) {
      return lane.get();
    }
  }
  if (lanes_.size() == kMaxStreams) {
    return nullptr;
  }
  return lanes_.emplace_back(std::make_unique<Lane>(static_cast<uint32_t>(lanes_.size()))).get();
}

Stream* Device::openStream(int priority) {
  Lane* lane = freeLane();
  Stream* stream = lane != nullptr ? host_.streams.acquire() : nullptr;
  if (stream != nullptr) {
    lane->owned = true;
    stream->device.store(this, std::memory_order_release);
    stream->lane.store(lane->number);
    stream->priority.store(std::clamp(priority, kGreatestPriority, kLeastPriority));
    host_.streams.publish(*stream);
  }
  return stream;
}

Stream* Device::createStream(int priority) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return !resetting_; });
  return openStream(priority);
}

Stream* Device::defaultStream() {
  if (Stream* stream = default_.load(std::memory_order_acquire)) {
    return stream;
  }
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return !resetting_; });
  Stream* stream = default_.load(std::memory_order_acquire);
  if (stream == nullptr && (stream = openStream(kLeastPriority)) != nullptr) {
    default_.store(stream, std::memory_order_release);
  }
  return stream;
}

bool Device::destroyStream(Stream& stream, uint64_t expected) {
  {
    const std::lock_guard lock(mutex_);
    if (expected == 0 || stream.handle.load() != expected) {
      return false;
    }
    stream.handle.store(0);
    Lane& lane = *lanes_[stream.lane.load()];
    lane.owned = false;
    if (lane.known && executor_ != nullptr) {
      if (lane.unfenced) {
        putFence(lane); // The lane is free for another stream once this is reached.
      }
      executor_->post(Kind::StreamDestroy, {pieceOf(StreamFrame{.stream = lane.number})});
      lane.known = false;
    }
  }
  host_.streams.release(stream);
  return true;
}

orError_t Device::admit(std::unique_lock<std::mutex>& lock, Stream& stream, uint64_t expected, Lane*& lane) {
  for (;;) {
    if (stream.handle.load(std::memory_order_relaxed) != expected) {
      return invalid(expected);
    }
    if (executor_ == nullptr) {
      if (const orError_t error = start(lock)) {
        return error;
      }
      continue; // The lock was given up: the stream may be gone.
    }
    lane = lanes_[stream.lane.load(std::memory_order_relaxed)].get();
    const uint64_t blocked = lane->window.blockedBy();
    if (blocked == 0) {
      break;
    }
    const Point point{this, lane->number, blocked};
    if (point.reached()) {
      lane->window.advance();
      continue;
    }
    lock.unlock(); // Whoever only wants to look at or destroy the stream must not wait for room.
    wait(point);
    lock.lock();
    if (const orError_t error = failure.check()) {
      return error; // The executor is lost and will never make room.
    }
  }
  if (!lane->known) {
    const StreamFrame frame{.stream = lane->number, .priority = stream.priority.load()};
    executor_->post(Kind::StreamCreate, {pieceOf(frame)});
    lane->known = true;
  }
  return orSuccess;
}

void Device::put(Lane& lane, Kind kind, std::initializer_list<Piece> pieces) {
  executor_->post(kind, pieces);
  lane.unfenced = true;
  uint64_t bytes = kOverhead;
  for (const Piece piece : pieces) {
    bytes += piece.size();
  }
  if (lane.window.add(bytes)) {
    putFence(lane);
  }
}

uint64_t Device::putFence(Lane& lane, uint32_t event, uint64_t version) {
  lane.unfenced = false;
  const FenceFrame frame{.stream = lane.number, .event = event, .value = ++lane.fenced, .version = version};
  executor_->post(Kind::Fence, {pieceOf(frame)});
  if (lane.window.add(kOverhead)) {
    lane.window.endPart(lane.fenced);
  }
  return lane.fenced;
}

orError_t Device::mark(Stream& stream, uint64_t expected, Point& point) {
  const std::lock_guard lock(mutex_);
  if (stream.handle.load(std::memory_order_relaxed) != expected) {
    return invalid(expected);
  }
  Lane& lane = *lanes_[stream.lane.load()];
  if (lane.unfenced) {
    putFence(lane);
  }
  point = {this, lane.number, lane.fenced};
  return orSuccess;
}

orError_t Device::record(Stream& stream, uint64_t expected, Event& event, uint64_t eventHandle) {
  std::unique_lock lock(mutex_);
  if (stream.handle.load(std::memory_order_relaxed) != expected) {
    return invalid(expected);
  }
  Lane* lane = lanes_[stream.lane.load()].get();
  Event::Version version{.recorded = true, .point = {this, lane->number, lane->fenced}, .ns = 0};
  const bool idle = !lane->unfenced && (lane->fenced == 0 || version.point.reached());
  if (idle) {
    version.ns = sim::nowNs(); // Everything before is done: the version is complete here and now.
  } else if (event.timed()) {
    if (const orError_t error = admit(lock, stream, expected, lane)) {
      return error;
    }
    version.point.value = putFence(*lane, event.index, event.nextVersion());
  } else if (lane->unfenced) {
    version.point.value = putFence(*lane);
  }
  return event.record(eventHandle, version) ? orSuccess : sim::invalidHandle("event", "an event", eventHandle);
}

orError_t Device::promise(Stream& stream, uint64_t expected, Point& before, uint64_t& promised) {
  std::unique_lock lock(mutex_);
  Lane* lane = nullptr;
  if (const orError_t error = admit(lock, stream, expected, lane)) {
    return error;
  }
  before = {this, lane->number, lane->unfenced ? putFence(*lane) : lane->fenced};
  promised = ++lane->hostFenced;
  const WaitFrame frame{
      .stream = lane->number, .ofDevice = index, .ofStream = lane->number, .kind = FenceKind::Host, .value = promised};
  put(*lane, Kind::Wait, {pieceOf(frame)});
  return orSuccess;
}

void Device::ensureFence(const Point& point) {
  const std::lock_guard lock(mutex_);
  Lane& lane = *lanes_[point.lane];
  if (lane.unfenced && lane.fenced < point.value) {
    putFence(lane);
  }
}

void Device::hurry(uint32_t lane) {
  if (const auto executor = running()) {
    executor->post(Kind::Nudge, {pieceOf(StreamFrame{.stream = lane})}, Urgency::Now);
  }
}

void Device::wait(const Point& point) {
  Fence& it = fence(point.lane);
  if (it.reached(point.value)) {
    return;
  }
  hurry(point.lane);
  const std::atomic<uint32_t>& gone = board().lost;
  const int64_t deadlineNs = host_.settings.deadlineNs;
  int64_t asked = sim::nowNs();
  it.wait(point.value, deadlineNs, [&] {
    if (gone.load() == 0 && sim::nowNs() - asked >= deadlineNs) {
      if (const auto executor = running()) {
        executor->ping(); // Work may take as long as it likes; but is there still somebody who does it?
      }
      asked = sim::nowNs();
    }
    return gone.load() != 0;
  });
}

void Device::drain() {
  std::vector<Point> points;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_) {
      if (lane->unfenced) {
        putFence(*lane);
      }
      if (const Point point{this, lane->number, lane->fenced}; lane->fenced != 0 && !point.reached()) {
        points.push_back(point);
      }
    }
  }
  for (const Point& point : points) {
    wait(point);
  }
}

} // namespace openreg::process
