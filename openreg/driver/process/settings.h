// What the environment says to the driver "process".
#pragma once

#include <cstdint>
#include <string>

#include "common/options.h"

namespace openreg::process {

/// OPENREG_SIM describes the devices, as for the simulator. OPENREG_PROCESS describes their processes, as a
/// comma-separated list:
///
/// | key        | meaning                                                             | default                       |
/// |------------|---------------------------------------------------------------------|-------------------------------|
/// | `executor` | path of the executor program, or `python` for the one in Python     | `openreg_executor` beside us  |
/// | `python`   | the interpreter that runs the one in Python                         | `python3`, found in PATH      |
/// | `deadline` | how long an executor may leave a request unanswered: `ms` or `s`    | 30s                           |
struct Settings {
  Options devices;
  std::string deviceText; ///< OPENREG_SIM itself, for the executors.
  std::string executor;
  std::string interpreter; ///< Runs `executor`; "" if that is a program itself.
  int64_t deadlineNs = 30'000'000'000;
};

/// Reads both variables. Throws std::invalid_argument with a sentence that names what is not understood.
Settings readSettings();

} // namespace openreg::process
