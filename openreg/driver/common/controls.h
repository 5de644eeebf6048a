// What openreg_sim.h does for a driver that is made of objects.h.
#pragma once

#include "api/control.h"
#include "common/system/threads.h"
#include "guarded.h"
#include "objects.h"

namespace openreg {

template <class Driver>
struct ControlCalls {
  static void setDelay(int device, int64_t kernelNs, int64_t copyNs) {
    Driver::instance().device(device).setDelay(kernelNs, copyNs);
  }
  static void loseDevice(int device) { Driver::instance().device(device).lose(); }
  static void countThreads(int* count) { *count = threadCount(); } // Those in this process.
};

template <class Driver>
inline constexpr api::Controls controlsOf{
    .SetDelay = guarded<ControlCalls<Driver>::setDelay>,
    .LoseDevice = guarded<ControlCalls<Driver>::loseDevice>,
    .ThreadCount = guarded<ControlCalls<Driver>::countThreads>,
};

} // namespace openreg
