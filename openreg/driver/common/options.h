// OPENREG_SIM: the configuration of the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "openreg.h"

namespace openreg {

constexpr int kMaxDevices = 16;

/// What OPENREG_SIM can say; openreg_sim.h documents it.
struct Options {
  struct Fail {
    std::string entry;
    int n;
    orError_t error;
  };

  int devices = 2;
  size_t memory = size_t{4} << 30;
  bool check = false;
  int64_t kernelDelayNs = 0;
  int64_t copyDelayNs = 0;
  bool kernels = true;
  std::vector<std::string> only; ///< If not empty, what the module "openreg" has: "gemm" stands for "gemm.float", too.
  std::vector<Fail> fail;
};

/// Reads the value of OPENREG_SIM. Throws std::invalid_argument with a sentence that names what is not understood.
Options parseOptions(const std::string& text);

} // namespace openreg
