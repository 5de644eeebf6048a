// What a graph needs beside what the driver has recorded: random numbers, and pinned memory that stays.
#pragma once

#include "graph/captured_numbers.h"
#include "graph/captured_pinned.h"

namespace openreg {

/** @brief Filled while a graph is captured, and kept as long as it can be replayed. */
struct Captured {
  CapturedNumbers numbers;
  CapturedPinned pinned;
};

} // namespace openreg
