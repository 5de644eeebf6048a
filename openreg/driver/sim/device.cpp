// One simulated device.
#include "device.h"

#include <algorithm>
#include <new>
#include <string>

#include "common/calls/ipc_calls.h"
#include "sim/stream/stream.h"
#include "simulator.h"

namespace openreg::sim {

namespace {
constexpr size_t kMaxStreamsPerDevice = 1024;
}

Device::Device(int index, const Options& options)
    : DeviceBase(index, options), kernelDelayNs(options.kernelDelayNs), copyDelayNs(options.copyDelayNs) {}

void* Device::allocate(size_t size) {
  void* allocated = memory.allocate(size);
  if (allocated == nullptr) {
    throw Refused{orDriverError(
        orErrorMemoryAllocation, "argument 'size' is %zu bytes; device %d has %zu bytes free of %zu in total", size,
        index, memory.free(), memory.total())};
  }
  return allocated;
}

std::optional<orIpcMemHandle> Device::share(const char* base) {
  const Standstill::Hold hold(simulator().standstill);
  return memory.share(base);
}

void* Device::open(const SharedPart& part) {
  char* base = memory.prepare() ? memory.reserve(part.bytes) : nullptr;
  if (base == nullptr) {
    throw Refused{noAddresses(index, part.bytes, memory.total())};
  }
  if (!memory.show(base, part.bytes, part.file, part.offset)) {
    memory.close(base);
    throw std::bad_alloc();
  }
  return base;
}

void Device::info(size_t* free, size_t* total) const {
  *free = memory.free();
  *total = memory.total();
}

uint64_t Device::defaultStream() {
  return findOrMakeDefault(simulator().streams, [this] { return createStream(0); });
}

uint64_t Device::createStream(int priority) {
  const std::lock_guard lock(mutex_);
  Stream* stream = streams_.size() < kMaxStreamsPerDevice ? simulator().streams.acquire() : nullptr;
  if (stream == nullptr) {
    return 0;
  }
  streams_.push_back(stream);
  return stream->open(*this, priority);
}

void Device::forget(Stream& stream) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, &stream);
  }
  simulator().streams.release(stream);
  simulator().bell.ring(); // A reset may wait for this.
}

void Device::drain() {
  std::vector<Point> waits;
  {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      if (const Point end{stream, stream->submitted()}; !end.reached()) {
        waits.push_back(end);
      }
    }
  }
  for (const Point& end : waits) {
    // Good even if the stream is destroyed and has a new owner meanwhile: positions only grow.
    end.stream->wait(end.position, [this] { return failure.lost().load(); });
  }
}

void Device::awaitVisitors() {
  visitors_.await([](const Point& end) { end.stream->wait(end.position); });
}

void Device::releaseWaiters() {
  simulator().bell.ring();
  simulator().streams.forEach([](Stream& stream) { stream.interruptWaiters(); });
  simulator().pinned().interruptWaiters();
}

void Device::fail(orError_t error, const std::string& message) {
  failure.raise(error, message);
  releaseWaiters();
}

void Device::lose() {
  active_.store(true);
  failure.impose(
      orErrorDeviceLost, "device " + std::to_string(index) + " was lost; expected it to answer until orDeviceReset");
  releaseWaiters();
}

void Device::delay(int64_t ns) {
  if (ns > 0) {
    simulator().bell.waitUntil(nowNs() + ns, [this] { return failure.exists(); });
  }
}

void Device::reset() {
  const std::lock_guard resetting(resetMutex_);
  Simulator& all = simulator();
  // From here on queued work is dropped and nothing can be added: the handles are gone.
  failure.dropWork();
  releaseWaiters();
  all.invalidateHandles(*this);
  // Workers take their streams out of the list when they end, which is after the running kernel of each. A thread that
  // makes a stream meanwhile finds it closed, too.
  all.bell.waitUntil(INT64_MAX, [this] {
    std::vector<Stream*> streams;
    {
      const std::lock_guard lock(mutex_);
      streams = streams_;
    }
    for (Stream* stream : streams) {
      if (&stream->device() == this) {
        stream->close(); // Does nothing to a stream that is closed already.
      }
    }
    return streams.empty();
  });
  memory.reset();
  peers_.store(0);
  for (auto& other : all.devices) {
    other->disablePeer(*this);
  }
  active_.store(false, std::memory_order_release);
  failure.clear();
}

} // namespace openreg::sim
