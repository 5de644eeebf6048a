// What a stream does for the functions of openreg.h.
#include <cstring>
#include <utility>

#include "sim/copy.h"
#include "sim/launch.h"
#include "sim/simulator.h"

namespace openreg::sim {

namespace {

/// Stands in a stream until another one has come to a certain point.
class WaitCommand final : public Command {
 public:
  explicit WaitCommand(const Point& point) : point_(point) {}
  void run(Stream& stream) override {
    // Our own device's: the other's failure moves its stream on, once what is running there has ended. A lost device is
    // not waited for even so long.
    const Failure& failure = stream.device().failure;
    Stream& source = *point_.stream;
    source.wait(point_.position, [&] { return failure.exists() || source.device().failure.lost().load(); });
  }
  bool describeWork(orActivityRecord& record) const override {
    record.kind = orActivityWait;
    record.name = "wait";
    return true;
  }

 private:
  Point point_;
};

class HostCommand final : public Command {
 public:
  HostCommand(orHostFn_t function, void* userData, bool always)
      : function_(function), userData_(userData), always_(always) {}
  void run(Stream&) override { function_(userData_); }
  bool runsAfterFailure() const override { return always_; }
  bool describeWork(orActivityRecord& record) const override {
    record.kind = orActivityHostFunction;
    record.name = "host function";
    return !always_; // The driver's own are none of the program's.
  }

 private:
  orHostFn_t function_;
  void* userData_;
  bool always_;
};

} // namespace

bool Point::reached() const {
  return stream == nullptr || stream->reached(position);
}

bool Point::poll() const {
  const bool is = reached();
  if (!is) {
    stream->nudge();
  }
  return is;
}

void Point::wait() const {
  if (stream != nullptr) {
    stream->waitUnlessLost(position);
  }
}

bool Stream::poll(uint64_t) {
  const bool is = idle();
  if (!is) {
    nudge();
  }
  return is;
}

void Stream::synchronize(uint64_t) {
  waitUnlessLost(submitted());
}

void Stream::queueWait(uint64_t expected, Event& event) {
  const Point point = event.latest();
  if (point.stream != this && !point.reached()) { // A stream is in order anyway, and what is complete stays so.
    submit<WaitCommand>(expected, point);
  }
}

void Stream::queueHostFunction(uint64_t expected, orHostFn_t function, void* userData, bool always) {
  submit<HostCommand>(expected, function, userData, always);
}

void Stream::queueCopy(uint64_t expected, Place&& dst, Place&& src, size_t size, Device* other) {
  const int peer = other != nullptr ? other->index : -1;
  const Position end = submit<CopyCommand>(expected, std::move(dst), std::move(src), size, peer);
  if (other != nullptr) {
    other->noteVisit({this, end});
  }
}

void Stream::queueFill(uint64_t expected, Place&& dst, int value, size_t size) {
  submit<FillCommand>(expected, std::move(dst), value, size);
}

void Stream::copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size) {
  const Turn turn(*this, expected);
  Device& on = device();
  orActivityRecord record = workOf(orActivityMemcpy, "");
  record.startNs = record.correlation != 0 ? nowNs() : 0;
  if (size != 0 && !on.failure.exists()) {
    on.delay(on.copyDelayNs.load(std::memory_order_relaxed));
  }
  require(on.surface());
  if (size != 0) {
    const Standstill::Touch touch(simulator().standstill);
    std::memmove(dst.bytes, src.bytes, size);
  }
  if (size != 0 && record.correlation != 0) [[unlikely]] {
    describeCopy(record, dst, src, size);
    record.device = on.index;
    record.stream = handleOf<orStream_t>(expected);
    record.endNs = nowNs();
    simulator().activity.deliver(record);
  }
}

void Stream::queueLaunch(
    uint64_t expected,
    const Kernel& kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount) {
  const Position end = submitWith<LaunchCommand>(
      LaunchCommand::extraBytes(argsSize, pointerCount), expected, *kernel.entry.load(std::memory_order_relaxed), args,
      argsSize, pointers, pointerCount);
  noteVisits(end);
}

void Stream::noteVisits(Position end) {
  const Device& on = device();
  if (on.canAccessAny()) [[unlikely]] {
    for (const auto& other : simulator().devices) { // Whether it uses their memory shows only when it runs.
      if (on.canAccess(*other)) {
        other->noteVisit({this, end});
      }
    }
  }
}

} // namespace openreg::sim
