// Calls in no order, on handles that other threads destroy and devices that other threads lose and reset.
#pragma once

#include <cstdint>

namespace stress {

/// Nothing can be said of the results, only of what must not happen: a crash, a hang, a data race, memory that is not
/// free after a reset. `operations` calls in each of `threads` threads.
void playChaos(uint64_t seed, int threads, int operations);

} // namespace stress
