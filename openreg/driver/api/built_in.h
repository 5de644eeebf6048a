// The drivers that this library brings along.
#pragma once

#include "control.h"
#include "openreg_driver.h"

#include <span>

namespace openreg::api {

/// A driver by the name in its table. Nothing is started before a call.
struct BuiltIn {
  OrDriver table;
  const Controls* controls; ///< What openreg_sim.h does for it; null where nothing is simulated.
};

/// All of them. The first serves whoever chooses none.
std::span<const BuiltIn* const> builtIns();

extern const BuiltIn simDriver;     ///< The simulator.
extern const BuiltIn processDriver; ///< The same in processes of their own.
extern const BuiltIn cudaDriver;    ///< NVIDIA's GPUs, by their driver library.
extern const BuiltIn fakeDriver;    ///< A name, and not one entry: the to-do list of a port, and where one starts.

} // namespace openreg::api
