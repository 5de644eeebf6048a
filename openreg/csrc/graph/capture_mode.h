// A time in which this thread may call what waits for the device, whoever captures.
#pragma once

#include <openreg.h>

namespace openreg {

// LITERALINCLUDE START: CAPTURE MODE
/**
 * @brief While it lives, the calling thread's mode is orStreamCaptureModeRelaxed.
 *
 * During a capture the driver refuses what may wait for the device, orMalloc and orFree too: a program that waits in
 * the middle of a capture is wrong. An allocator is not: what it asks for belongs to no graph. CUDA's backend has it
 * under the name CUDAStreamCaptureModeGuard. A driver without captures has no such mode, and refuses nothing.
 */
class RelaxedCaptureMode {
 public:
  RelaxedCaptureMode() noexcept : exchanged_(orThreadExchangeStreamCaptureMode(&mode_) == orSuccess) {
    if (!exchanged_) {
      (void)orGetLastError(); // an answer, not a failure
    }
  }
  ~RelaxedCaptureMode() {
    if (exchanged_) {
      (void)orThreadExchangeStreamCaptureMode(&mode_);
    }
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  orStreamCaptureMode mode_ = orStreamCaptureModeRelaxed; // the one before, once exchanged
  bool exchanged_;
};
// LITERALINCLUDE END: CAPTURE MODE

} // namespace openreg
