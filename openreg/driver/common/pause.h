// Pause points: where a test can hold a thread up, to make two threads meet at a bad moment.
#pragma once

#include <atomic>

#include "openreg_sim.h"

namespace openreg {

/// What orSimSetPauseFunction has been given.
inline constinit std::atomic<orSimPauseFn_t> pauseFunction{nullptr};

/// To be called on paths alone that are not hot.
inline void pausePoint(const char* point) {
  if (const orSimPauseFn_t function = pauseFunction.load(std::memory_order_acquire)) [[unlikely]] {
    function(point);
  }
}

} // namespace openreg
