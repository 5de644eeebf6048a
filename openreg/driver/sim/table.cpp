// The simulator's table.
#include "table.h"

#include "common/controls.h"
#include "common/table.h"
#include "simulator.h"

namespace openreg::sim {

const OrDriver& table() {
  static constexpr OrDriver kTable = tableOf<Simulator>("sim");
  return kTable;
}

const api::Controls& controls() {
  return controlsOf<Simulator>;
}

} // namespace openreg::sim
