// Where threads run: Linux.
#include "placement.h"

#include <sched.h>

namespace openreg {

namespace {

/// Moves this thread to another core than `cpu`, where it has one. Afterwards it may run anywhere again.
void leaveCpu(int cpu) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return;
  }
  cpu_set_t others = allowed;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) {
    return;
  }
  // Somebody else may have said meanwhile where this thread is to run: that stays.
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &others)) {
    sched_setaffinity(0, sizeof(allowed), &allowed);
  }
}

} // namespace

void Whereabouts::leave() const {
  if (const int cpu = currentCpu(); cpu == cpu_.load(std::memory_order_relaxed)) {
    leaveCpu(cpu);
  }
}

} // namespace openreg
