// Captures: which are under way.
#include "graph/capture.h"

#include "device/device.h"
#include "device/error.h"
#include "stream/handle.h"

#include <map>
#include <mutex>
#include <utility>

namespace openreg {

constinit std::atomic<int> captures{0};

namespace {

/// The captures of this backend's graphs by the driver's number. Never destroyed: a thread may free a tensor, and ask
/// here, while the process ends.
struct UnderWay {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Captured>> all;
};

UnderWay& underWay() {
  static auto& object = *new UnderWay;
  return object;
}

} // namespace

// LITERALINCLUDE START: CAPTURE ID
uint64_t captureId(orStream_t stream) noexcept {
  if (!anyCapture()) {
    return 0;
  }
  auto status = orStreamCaptureStatusNone;
  uint64_t id = 0;
  if (orStreamGetCaptureInfo(stream, &status, &id) != orSuccess) {
    (void)orGetLastError(); // a stream that is gone is in no capture
    return 0;
  }
  return id;
}

uint64_t captureId(const c10::Stream& stream) noexcept {
  try {
    return anyCapture() ? captureId(streamHandle(stream)) : 0;
  } catch (const c10::Error&) {
    return 0;
  }
}

std::shared_ptr<Captured> captureOf(orStream_t stream) noexcept {
  const auto id = captureId(stream);
  if (id == 0) {
    return nullptr;
  }
  auto& [mutex, all] = underWay();
  const std::lock_guard lock(mutex);
  const auto found = all.find(id);
  return found == all.end() ? nullptr : found->second;
}
// LITERALINCLUDE END: CAPTURE ID

void checkNotCapturing(c10::DeviceIndex device, const char* function, const char* advice) {
  TORCH_CHECK(
      !anyCapture() || captureId(currentStreamHandle(device)) == 0, function, ": the current stream of ",
      c10::Device(kDeviceType, device), " is capturing a graph; ", advice);
}

Capture::Capture(orStream_t stream, orStreamCaptureMode mode, std::shared_ptr<Captured> captured) : stream_(stream) {
  check(orStreamBeginCapture(stream, mode));
  captures.fetch_add(1, std::memory_order_relaxed);
  id_ = captureId(stream);
  auto& [mutex, all] = underWay();
  const std::lock_guard lock(mutex);
  all.emplace(id_, std::move(captured));
}

Capture::~Capture() {
  if (orGraph_t graph = nullptr; underWay_ && !inBadFork() && end(graph) == orSuccess) {
    (void)orGraphDestroy(graph);
  }
  if (underWay_ && !inBadFork()) {
    (void)orGetLastError();
    forget(); // what another thread has begun can't be ended here; the driver goes on with it alone
  }
}

orError_t Capture::end(orGraph_t& graph) noexcept {
  graph = nullptr;
  const auto error = orStreamEndCapture(stream_, &graph);
  if (error != orErrorStreamCaptureWrongThread) {
    forget();
  }
  return error;
}

void Capture::forget() noexcept {
  std::shared_ptr<Captured> captured; // goes last, without the lock
  {
    auto& [mutex, all] = underWay();
    const std::lock_guard lock(mutex);
    if (const auto found = all.find(id_); found != all.end()) {
      captured = std::move(found->second);
      all.erase(found);
    }
  }
  underWay_ = false;
  captures.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace openreg
