// A graph: work that is captured once and launched as a whole.
#include "graph/graph.h"

#include "device/device.h"
#include "device/error.h"
#include "device/reset.h"
#include "graph/handled_exception.h"
#include "graph/pool_id.h"
#include "stream/current_stream.h"
#include "stream/handle.h"

#include <c10/util/Exception.h>

#include <utility>

namespace openreg {
namespace {

orStreamCaptureMode driverMode(at::GraphCaptureMode mode) {
  switch (mode) {
    case at::GraphCaptureMode::ThreadLocal:
      return orStreamCaptureModeThreadLocal;
    case at::GraphCaptureMode::Relaxed:
      return orStreamCaptureModeRelaxed;
    default:
      return orStreamCaptureModeGlobal;
  }
}

} // namespace

// LITERALINCLUDE START: CAPTURE BEGIN
void Graph::capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) {
  TORCH_CHECK(
      capture_ == nullptr && !captured_, "Graph.capture_begin: this graph ",
      captured_ ? "has captured something; call reset() before it captures again"
                : "is capturing already; call capture_end() first");
  const auto device = currentDevice();
  const auto stream = currentStreamHandle(device);
  checkNotCapturing(device, "Graph.capture_begin", "end that capture first, or make another stream current");
  clear();
  device_ = device;
  life_ = lifeOf(device);
  abandoned_.clear();
  const at::MempoolId_t none{0, 0};
  share_.emplace(device, pool == none ? ownPoolId() : pool);
  collected_ = std::make_shared<Captured>();
  try {
    capture_ = std::make_unique<Capture>(stream, driverMode(mode), collected_);
    share_->beginCapture(capture_->id());
  } catch (...) {
    clear();
    throw;
  }
  handled_ = handledException();
}
// LITERALINCLUDE END: CAPTURE BEGIN

// LITERALINCLUDE START: CAPTURE END
void Graph::capture_end() {
  TORCH_CHECK(
      capture_ != nullptr,
      "Graph.capture_end: this graph is not capturing; call capture_begin() before, or use the graph "
      "as a context: `with graph:`");
  const auto error = capture_->end(graph_);
  if (error == orErrorStreamCaptureWrongThread) {
    throwError(error); // and the capture goes on
  }
  share_->endCapture();
  capture_ = nullptr;
  const auto* handled = handledException();
  if (handled != nullptr && handled != handled_) {
    (void)orGetLastError(); // the exception says more
    clear();
    abandoned_ = "an exception has ended the capture";
    return;
  }
  try {
    check(error);
    captured_ = true;
    if (!keepGraph_) {
      instantiate();
    }
  } catch (const std::exception&) {
    clear();
    abandoned_ = "the capture has failed";
    throw;
  }
  if (!keepGraph_ && !debug_) {
    (void)orGraphDestroy(std::exchange(graph_, nullptr)); // what is launched doesn't need it
  }
}
// LITERALINCLUDE END: CAPTURE END

void Graph::checkCaptured(const char* function) const {
  TORCH_CHECK(
      captured_, "Graph.", function, ": nothing is captured",
      capture_ != nullptr  ? " yet; call capture_end() first"
      : abandoned_.empty() ? "; capture something first: `with graph:`"
                           : ", as " + abandoned_ + "; capture it anew");
  TORCH_CHECK(
      life_ == lifeOf(device_), "Graph.", function, ": the graph was captured before reset_device(",
      static_cast<int>(device_), "), which has freed its memory; call reset() and capture it anew");
}

// LITERALINCLUDE START: REPLAY
void Graph::instantiate() {
  checkCaptured("instantiate");
  TORCH_CHECK(
      graph_ != nullptr,
      "Graph.instantiate: what was captured has been instantiated, and was not kept for another time; "
      "expected a graph made with keep_graph=True");
  orGraphExec_t made = nullptr;
  check(orGraphInstantiate(&made, graph_));
  if (const auto before = std::exchange(exec_, made); before != nullptr) {
    (void)orGraphExecDestroy(before);
  }
}

void Graph::replay() {
  checkCaptured("replay");
  const auto current = currentDevice();
  TORCH_CHECK(
      current == device_, "Graph.replay: the graph is of ", c10::Device(kDeviceType, device_),
      ", but the current device is ", c10::Device(kDeviceType, current),
      "; expected a stream of the graph's device to be the current one");
  checkNotCapturing(device_, "Graph.replay", "a graph can't be part of another");
  if (exec_ == nullptr) {
    instantiate();
  }
  collected_->numbers.fill(); // on the same stream, hence before the graph
  collected_->pinned.usedOn(currentStream(device_));
  check(orGraphLaunch(exec_, currentStreamHandle(device_)));
}
// LITERALINCLUDE END: REPLAY

void Graph::reset() {
  TORCH_CHECK(capture_ == nullptr, "Graph.reset: the graph is capturing; call capture_end() first");
  clear();
  abandoned_.clear();
}

// A forked child has inherited handles that mean nothing there. After a reset of the device the driver doesn't know
// them any more.
void Graph::clear() noexcept {
  if (inBadFork()) {
    return;
  }
  if (capture_ != nullptr) {
    share_->endCapture();
    capture_ = nullptr;
  }
  if (const auto exec = std::exchange(exec_, nullptr); exec != nullptr && orGraphExecDestroy(exec) != orSuccess) {
    (void)orGetLastError();
  }
  if (const auto graph = std::exchange(graph_, nullptr); graph != nullptr && orGraphDestroy(graph) != orSuccess) {
    (void)orGetLastError();
  }
  captured_ = false;
  collected_ = nullptr;
  share_.reset();
}

at::MempoolId_t Graph::pool() const {
  TORCH_CHECK(share_.has_value(), "Graph.pool: the graph has no pool; capture something first");
  return share_->id();
}

void Graph::debug_dump(const std::string& path) {
  checkCaptured("debug_dump");
  TORCH_CHECK(
      graph_ != nullptr,
      "Graph.debug_dump: the graph was not kept; call enable_debug_mode() before the capture, or make "
      "it with keep_graph=True");
  check(orGraphDebugDotPrint(graph_, path.c_str()));
}

} // namespace openreg

// LITERALINCLUDE START: REGISTER GRAPH
// The key is the device's visible name in capital letters: PyTorch looks the graph up after the rename.
namespace at {
REGISTER_GRAPH_IMPL(OPENREG, openreg::Graph);
} // namespace at
// LITERALINCLUDE END: REGISTER GRAPH
