// Frames about streams.
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "api/state.h"
#include "commands.h"
#include "service.h"

namespace openreg::process {

void EventTimes::set(uint32_t event, uint64_t version, int64_t ns) {
  const std::lock_guard lock(mutex_);
  Time& it = times_[event];
  if (version > it.version) {
    it = {version, ns};
  }
}

int64_t EventTimes::get(uint32_t event) {
  const std::lock_guard lock(mutex_);
  return times_[event].ns;
}

sim::Stream& Service::stream(uint32_t number) {
  if (number >= kMaxStreams || streams_[number] == nullptr) {
    throw Garbled("a frame names stream " + std::to_string(number) + ", which does not exist");
  }
  return *streams_[number];
}

void Service::onStreamCreate(const StreamFrame& frame) {
  if (frame.stream >= kMaxStreams || streams_[frame.stream] != nullptr) {
    throw Garbled("a frame creates stream " + std::to_string(frame.stream) + ", which there is or cannot be");
  }
  streams_[frame.stream] = sim::simulator().streams.find(device_.createStream(frame.priority));
  if (streams_[frame.stream] == nullptr) {
    throw Garbled("a frame creates stream " + std::to_string(frame.stream) + ", which is one too many");
  }
}

void Service::onStreamDestroy(const StreamFrame& frame) {
  stream(frame.stream).close();
  streams_[frame.stream] = nullptr;
}

// LITERALINCLUDE START: EXECUTOR PASS
void Service::pass(const FenceFrame& fence) {
  if (fence.event != kNoEvent) {
    times_.set(fence.event, fence.version, nowNs());
  }
  DeviceBoard& mine = deviceBoard();
  if (device_.failure.exists() && mine.failed.load() == 0) {
    const std::lock_guard lock(failing_);
    // Not surfaced here: it is for the host to say from when on calls fail. None while Quit drops what is queued.
    const orError_t error = device_.failure.peek();
    if (error != orSuccess && mine.failed.load() == 0) {
      mine.error.store(error);
      std::snprintf(mine.text, sizeof(mine.text), "%s", api::thread.description);
      mine.failed.store(1, std::memory_order_release);
    }
  }
  passed_[fence.stream].store(fence.value);
  advance(fence.stream, fence.value);
}
// LITERALINCLUDE END: EXECUTOR PASS

void Service::advance(uint32_t stream, uint64_t value) {
  deviceBoard().streams[stream].advance(value, [this] { return board().somebodySleepsOn(device_.index); });
}

void Service::onFence(const FenceFrame& frame) {
  sim::Stream& it = stream(frame.stream);
  if (it.idle()) {
    pass(frame); // Everything before is done: no worker has to wake up for that.
  } else {
    it.submit<FenceCommand>(it.handle.load(), *this, frame);
  }
}

void Service::onWait(const WaitFrame& frame) {
  (void)deviceAt(frame.ofDevice);
  if (frame.ofStream >= kMaxStreams || frame.kind > FenceKind::Host) {
    throw Garbled(
        "a frame waits for stream " + std::to_string(frame.ofStream) + ", fence of kind " +
        std::to_string(static_cast<uint32_t>(frame.kind)));
  }
  sim::Stream& it = stream(frame.stream);
  const Numbered number(frame.correlation);
  it.submit<WaitCommand>(it.handle.load(), *this, frame);
}

void Service::onNudge(const StreamFrame& frame) {
  if (frame.stream < kMaxStreams && streams_[frame.stream] != nullptr) {
    streams_[frame.stream]->nudge();
    // Somebody waits, perhaps for what has been: said again, so that a word that was spoilt holds nobody up for ever.
    advance(frame.stream, passed_[frame.stream].load());
  }
}

void Service::onQuit() {
  std::thread([this] {
    device_.reset(); // Drops what is queued, and waits for the running kernel.
    _exit(0);
  }).detach(); // Meanwhile Ping must be answered.
}

} // namespace openreg::process
