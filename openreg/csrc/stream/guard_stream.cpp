// Streams, as the guard offers them to PyTorch, and what the host can ask of streams and events.
#include "device/error.h"
#include "device/guard.h"
#include "stream/handle.h"
#include "stream/pool.h"

#include <limits>

namespace openreg {
namespace {

// LITERALINCLUDE START: GUARD STREAM QUERY
// "Not ready" is an answer. Everything else that is not success is the device's error, and this is where it surfaces.
bool isReady(orError_t answer) {
  if (answer != orErrorNotReady) {
    check(answer);
  }
  return answer == orSuccess;
}

} // namespace

bool Guard::queryStream(const c10::Stream& stream) const {
  return isReady(orStreamQuery(streamHandle(stream)));
}

void Guard::synchronizeStream(const c10::Stream& stream) const {
  check(orStreamSynchronize(streamHandle(stream)));
}

// PyTorch passes on null for an event that was never recorded: nobody has to wait for it.
bool Guard::queryEvent(void* event) const {
  return event == nullptr || isReady(orEventQuery(static_cast<orEvent_t>(event)));
}

void Guard::synchronizeEvent(void* event) const {
  if (event != nullptr) {
    check(orEventSynchronize(static_cast<orEvent_t>(event)));
  }
}

double Guard::elapsedTime(void* start, void* end, c10::DeviceIndex /*device*/) const {
  float milliseconds = 0;
  check(orEventElapsedTime(&milliseconds, static_cast<orEvent_t>(start), static_cast<orEvent_t>(end)));
  return milliseconds;
}
// LITERALINCLUDE END: GUARD STREAM QUERY

// LITERALINCLUDE START: GUARD NEW STREAM
// torch.Stream("openreg") comes without an index, so all of these resolve it.
c10::Stream Guard::getNewStream(c10::Device device, int priority) const {
  return nextStream(resolveIndex(device), priority);
}

c10::Stream Guard::getStreamFromGlobalPool(c10::Device device, bool isHighPriority) const {
  return nextStream(resolveIndex(device), isHighPriority ? std::numeric_limits<int>::min() : 0);
}

void* Guard::getStreamNativeHandle(const c10::Stream stream) const {
  return streamHandle(stream);
}
// LITERALINCLUDE END: GUARD NEW STREAM

} // namespace openreg
