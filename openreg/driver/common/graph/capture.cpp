// Captures.
#include "capture.h"

#include <algorithm>
#include <utility>

#include "common/lookup.h"
#include "common/refused.h"

namespace openreg {

namespace {

thread_local constinit orStreamCaptureMode threadMode = orStreamCaptureModeGlobal;

constexpr const char* kMayWait =
    "the call may wait for the device, which only a thread of relaxed mode may do (orThreadExchangeStreamCaptureMode)";

[[noreturn]] void refuseInvalid(const std::string& why) {
  throw Refused{orDriverError(
      orErrorStreamCaptureInvalidated,
      "an earlier call has made the capture invalid: %s; expected it to be ended and begun anew", why.c_str())};
}

[[noreturn]] void refuseFor(uint64_t capture, const char* why) {
  throw Refused{orDriverError(
      orErrorStreamCaptureUnsupported, "capture %llu is under way: %s; expected it to be ended before",
      static_cast<unsigned long long>(capture), why)};
}

[[noreturn]] void refuseIsolation(const char* what) {
  throw Refused{orDriverError(
      orErrorStreamCaptureIsolation, "argument 'event' was recorded %s; expected one that was recorded in the capture",
      what)};
}

/// Adds what is not there yet.
void join(std::vector<size_t>& last, const std::vector<size_t>& more) {
  for (const size_t node : more) {
    if (std::ranges::find(last, node) == last.end()) {
      last.push_back(node);
    }
  }
}

/// Which of a graph's nodes are done when those in `last` are.
std::vector<bool> doneWith(const GraphNodes& nodes, const std::vector<size_t>& last) {
  std::vector<bool> done(nodes.size());
  for (const size_t node : last) {
    done[node] = true;
  }
  for (size_t i = nodes.size(); i-- > 0;) { // A node depends on earlier ones only.
    if (done[i]) {
      for (const size_t before : nodes[i]->after) {
        done[before] = true;
      }
    }
  }
  return done;
}

} // namespace

void Captures::begin(Capturable& stream, uint64_t expected, int device, orStreamCaptureMode mode) {
  const std::lock_guard lock(mutex_);
  requireStill(stream, expected);
  if (const auto it = of(stream); it != all_.end()) {
    throw Refused{orDriverError(
        orErrorInvalidValue, "argument 'stream' is in capture %llu already; expected a stream that doesn't capture",
        static_cast<unsigned long long>(it->first))};
  }
  const uint64_t id = given_ + 1;
  all_[id] = {device, mode, std::this_thread::get_id(), &stream, {}, {{&stream, {}}}, ""};
  given_ = id;
  count_.store(all_.size());
  stream.capture.store(id, std::memory_order_release);
}

void Captures::erase(All::iterator it) {
  for (const auto& [stream, last] : it->second.last) {
    uint64_t expected = it->first; // It may have a new owner, and be in another one.
    stream->capture.compare_exchange_strong(expected, 0);
  }
  all_.erase(it);
  count_.store(all_.size());
}

GraphNodes Captures::end(Capturable& stream, uint64_t expected) {
  const std::lock_guard lock(mutex_);
  requireStill(stream, expected);
  const auto it = of(stream);
  if (it == all_.end()) {
    throw Refused{orDriverError(
        orErrorInvalidValue, "argument 'stream' doesn't capture; expected orStreamBeginCapture to be called before")};
  }
  Capture& capture = it->second;
  if (capture.origin != &stream) {
    throw Refused{orDriverError(
        orErrorStreamCaptureUnmatched,
        "argument 'stream' has joined capture %llu; expected the stream on which that was begun",
        static_cast<unsigned long long>(it->first))};
  }
  if (capture.mode != orStreamCaptureModeRelaxed && capture.owner != std::this_thread::get_id()) {
    throw Refused{orDriverError(
        orErrorStreamCaptureWrongThread,
        "capture %llu was begun by another thread; expected that one to end it, as its mode is not relaxed",
        static_cast<unsigned long long>(it->first))};
  }
  const Capture ended = capture;
  erase(it);
  if (!ended.invalid.empty()) {
    refuseInvalid(ended.invalid);
  }
  const std::vector<bool> done = doneWith(ended.nodes, ended.last.at(&stream));
  const auto open = std::ranges::count(done, false);
  if (open != 0) {
    throw Refused{orDriverError(
        orErrorStreamCaptureUnjoined,
        "%td of the capture's %zu nodes are of streams that joined it and were not joined; "
        "expected its first stream to wait for an event behind the last work of each",
        open, ended.nodes.size())};
  }
  return ended.nodes;
}

orStreamCaptureStatus Captures::status(const Capturable& stream, uint64_t* id) const {
  const std::lock_guard lock(mutex_);
  const auto it = of(stream);
  if (id != nullptr) {
    *id = it == all_.end() ? 0 : it->first;
  }
  return it == all_.end()             ? orStreamCaptureStatusNone
         : it->second.invalid.empty() ? orStreamCaptureStatusActive
                                      : orStreamCaptureStatusInvalidated;
}

// LITERALINCLUDE START: CAPTURE ADD
bool Captures::add(Capturable& stream, uint64_t expected, GraphWork&& work) {
  const std::lock_guard lock(mutex_);
  requireStill(stream, expected);
  const auto it = of(stream);
  if (it == all_.end()) {
    return false;
  }
  Capture& capture = it->second;
  if (!capture.invalid.empty()) {
    refuseInvalid(capture.invalid);
  }
  std::vector<size_t>& last = capture.last[&stream];
  std::vector<size_t> next{capture.nodes.size()};
  capture.nodes.push_back(std::make_shared<const GraphNode>(std::move(work), last));
  last = std::move(next);
  return true;
}
// LITERALINCLUDE END: CAPTURE ADD

std::shared_ptr<const CapturedPoint> Captures::point(const Capturable& stream) const {
  const std::lock_guard lock(mutex_);
  const auto it = of(stream);
  if (it == all_.end()) {
    return nullptr;
  }
  if (!it->second.invalid.empty()) {
    refuseInvalid(it->second.invalid);
  }
  const auto last = it->second.last.find(const_cast<Capturable*>(&stream));
  return std::make_shared<const CapturedPoint>(it->first, last->second);
}

// LITERALINCLUDE START: CAPTURE WAIT
bool Captures::wait(
    Capturable& stream,
    uint64_t expected,
    int device,
    const std::shared_ptr<const CapturedPoint>& point,
    bool pending) {
  const std::lock_guard lock(mutex_);
  requireStill(stream, expected);
  const auto own = of(stream);
  const auto its = point != nullptr ? all_.find(point->capture) : all_.end();
  const auto invalidate = [&](All::iterator it, const char* why) {
    if (it != all_.end() && it->second.invalid.empty()) {
      it->second.invalid = why;
    }
  };
  if (its == all_.end()) {
    if (own != all_.end() && pending) {
      invalidate(own, "one of its streams was to wait for an event from outside");
      refuseIsolation("outside of the capture");
    }
    return own != all_.end();
  }
  if (own != all_.end() && own != its) {
    invalidate(own, "one of its streams was to wait for an event of another capture");
    invalidate(its, "a stream of another capture was to wait for its work");
    refuseIsolation("in another capture");
  }
  if (!its->second.invalid.empty()) {
    refuseInvalid(its->second.invalid);
  }
  if (its->second.device != device) {
    invalidate(its, "a stream of another device was to wait for its work");
    refuseIsolation("in a capture of another device");
  }
  join(its->second.last[&stream], point->after);
  stream.capture.store(its->first, std::memory_order_release);
  return true;
}
// LITERALINCLUDE END: CAPTURE WAIT

void Captures::refuse(uint64_t capture, const char* why) {
  const std::lock_guard lock(mutex_);
  if (const auto it = all_.find(capture); it != all_.end()) {
    if (it->second.invalid.empty()) {
      it->second.invalid = why;
    }
    refuseFor(capture, why);
  }
}

// LITERALINCLUDE START: CAPTURE MODES
void Captures::requireNone() {
  const std::lock_guard lock(mutex_);
  uint64_t forbidding = 0;
  for (auto& [id, capture] : all_) {
    const bool mine = capture.owner == std::this_thread::get_id();
    const bool forbids = mine ? capture.mode != orStreamCaptureModeRelaxed && threadMode != orStreamCaptureModeRelaxed
                              : capture.mode == orStreamCaptureModeGlobal && threadMode == orStreamCaptureModeGlobal;
    if (forbids && capture.invalid.empty()) { // One that is invalid has nothing left to be protected.
      capture.invalid = kMayWait;
      forbidding = id;
    }
  }
  if (forbidding != 0) {
    refuseFor(forbidding, kMayWait);
  }
}
// LITERALINCLUDE END: CAPTURE MODES

void Captures::leave(Capturable& stream) {
  const std::lock_guard lock(mutex_);
  const auto it = of(stream);
  if (it == all_.end()) {
    return;
  }
  if (it->second.origin == &stream) {
    return erase(it); // Nobody is left who could end it.
  }
  it->second.invalid = "a stream that had joined it was destroyed";
  it->second.last.erase(&stream);
  stream.capture.store(0);
}

orStreamCaptureMode Captures::exchangeMode(orStreamCaptureMode mode) {
  return std::exchange(threadMode, mode);
}

} // namespace openreg
