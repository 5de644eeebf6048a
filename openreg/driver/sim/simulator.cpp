// Everything the simulator has.
#include "simulator.h"

#include <cstdlib>

namespace openreg::sim {

Simulator::Simulator(const Options& from) : options(from) {
  start(options);
}

Simulator& Simulator::instance() {
  static Simulator& instance = []() -> Simulator& {
    const char* text = std::getenv("OPENREG_SIM");
    return *new Simulator(parseOptions(text != nullptr ? text : ""));
  }();
  return instance;
}

} // namespace openreg::sim
