// Resetting a device, and forgetting what was kept of its life before.
#include "device/reset.h"

#include "device/error.h"

#include <exception>
#include <mutex>
#include <vector>

namespace openreg {

constinit std::array<std::atomic<uint64_t>, kMaxDevices> resets{};

namespace {

// A function-local static, because parts in other files may register before this file's own globals exist.
std::vector<OnReset::Forget>& parts() {
  static auto& list = *new std::vector<OnReset::Forget>;
  return list;
}

} // namespace

// LITERALINCLUDE START: RESET DEVICE
OnReset::OnReset(Forget forget) {
  parts().push_back(forget);
}

void resetDevice(c10::DeviceIndex device) {
  (void)currentDevice(); // fails in a forked child, which may have inherited a locked mutex
  static auto& mutex = *new std::mutex;
  const std::lock_guard oneAtATime(mutex);
  check(orDeviceReset(device));
  // In this order. A handle that a thread asks for from here on is of the new life, and a thread that has asked before
  // finds, when it is about to keep what it got, that the number is another.
  resets.at(static_cast<uint8_t>(device)).fetch_add(1, std::memory_order_acq_rel);
  std::exception_ptr failed;
  for (const auto forget : parts()) {
    try {
      forget(device);
    } catch (...) {
      failed = std::current_exception(); // the others have to forget all the same
    }
  }
  if (failed != nullptr) {
    std::rethrow_exception(failed);
  }
}
// LITERALINCLUDE END: RESET DEVICE

} // namespace openreg
