// Events, as the guard offers them to PyTorch: the autograd engine orders the streams of two devices with them.
#include "device/guard.h"
// LITERALINCLUDE START: INCLUDE SHARED EVENT
#include "device/device_name.h"
#include "storage/shared_event.h"
// LITERALINCLUDE END: INCLUDE SHARED EVENT
#include "stream/event.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: GUARD EVENT FUNCTIONS
// PyTorch keeps an event as a void*, null until it is recorded first: only then is the device known. On a driver
// without events it stays null.
void Guard::record(void** event, const c10::Stream& stream, c10::DeviceIndex device, c10::EventFlag flag) const {
  TORCH_CHECK(
      device == -1 || device == stream.device_index(), "record: event of ", kDeviceName, ":", static_cast<int>(device),
      " cannot be recorded on ", stream.device());
  // LITERALINCLUDE START: TAKE EVENT
  if (const auto shared = takeGiven(); shared != nullptr) {
    *event = shared; // an event of two processes, which is being made or opened
    return;
  }
  // LITERALINCLUDE END: TAKE EVENT
  if (*event == nullptr) {
    const bool timed = flag == c10::EventFlag::BACKEND_DEFAULT; // torch.Event(enable_timing=True)
    *event = createEvent(stream.device_index(), timed ? orEventDefault : orEventDisableTiming);
  }
  recordEvent(static_cast<orEvent_t>(*event), streamHandle(stream), stream.device_index());
}

void Guard::block(void* event, const c10::Stream& stream) const {
  if (event != nullptr) {
    check(orStreamWaitEvent(streamHandle(stream), static_cast<orEvent_t>(event), 0));
  }
}

// Runs in destructors: an error has nowhere to go. The device plays no part, the driver finds the event by its handle.
void Guard::destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept {
  if (event != nullptr) {
    (void)orEventDestroy(static_cast<orEvent_t>(event));
  }
}
// LITERALINCLUDE END: GUARD EVENT FUNCTIONS

} // namespace openreg
