// Events that two processes share, over the contract's handles.
#include "storage/shared_event.h"

#include "device/current_device.h"
#include "device/device.h"
#include "device/error.h"

#include <cstring>
#include <utility>

namespace openreg {

namespace {

// LITERALINCLUDE START: GIVE EVENT
thread_local orEvent_t given = nullptr;

/// PyTorch's event makes its driver's event when it is recorded, and has no other way to get one. So it is told to
/// record, and the guard, which is asked to do it, takes the event that is given here and queues nothing.
void give(c10::Event& event, orEvent_t made, c10::DeviceIndex device) {
  given = made;
  try {
    event.record(c10::Stream(c10::Stream::DEFAULT, {kDeviceType, device}));
  } catch (...) {
    if (const auto left = takeGiven(); left != nullptr) {
      (void)orEventDestroy(left); // nobody has it
    }
    throw;
  }
}
// LITERALINCLUDE END: GIVE EVENT

} // namespace

orEvent_t takeGiven() noexcept {
  return std::exchange(given, nullptr);
}

// LITERALINCLUDE START: SHARED EVENT
void makeShared(c10::Event& event, c10::DeviceIndex device) {
  CurrentDevice current;
  current.set(device);
  orEvent_t made = nullptr;
  check(orEventCreateWithFlags(&made, unsigned{orEventDisableTiming} | orEventInterprocess));
  give(event, made, device);
}

std::string sharedHandle(const c10::Event& event) {
  TORCH_CHECK_VALUE(
      event.eventId() != nullptr,
      "ipc_handle: this event was made without interprocess=True; expected one made with it");
  orIpcEventHandle handle;
  check(orIpcGetEventHandle(&handle, static_cast<orEvent_t>(event.eventId())));
  return {reinterpret_cast<const char*>(&handle), sizeof(handle)};
}

void openShared(c10::Event& event, c10::DeviceIndex device, const std::string& handle) {
  orIpcEventHandle name;
  TORCH_CHECK_VALUE(
      handle.size() == sizeof(name), "from_ipc_handle: argument 'handle' has ", handle.size(), " bytes; expected the ",
      sizeof(name), " of ipc_handle()");
  std::memcpy(&name, handle.data(), sizeof(name));
  CurrentDevice current;
  current.set(device);
  orEvent_t opened = nullptr;
  check(orIpcOpenEventHandle(&opened, &name));
  give(event, opened, device);
}
// LITERALINCLUDE END: SHARED EVENT

} // namespace openreg
