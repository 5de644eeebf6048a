// Pause points.
#include "pause.h"

#include "simulator.h"

namespace openreg::sim {

void pausePoint(const char* point) {
  Simulator& all = simulator();
  if (all.options.pause) [[unlikely]] {
    all.gates.forEach([point](Gate& gate) { gate.hold(point); });
  }
}

} // namespace openreg::sim
