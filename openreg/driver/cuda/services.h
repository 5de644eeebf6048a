// What a kernel is given beside its arguments: the same layout here and in device_code.h.
#pragma once

#include <cstdint>

namespace openreg::cuda {

/// Where a kernel reports an error: pinned memory.
struct Report {
  int32_t code; ///< orError_t; written last.
  int32_t unused;
  const char* kernel; ///< Its name, as Services had it.
  char text[256];
};

/// Device memory through which the blocks of a launch tell each other what they have. Streams have one each: launches
/// on a stream run one after the other.
struct Scratch {
  uint32_t tallies[1024]; ///< How many blocks have done their part; 0 between launches.
  alignas(16) char bytes[256 << 10];
};

/// The last parameter of every kernel.
struct Services {
  CUdeviceptr failed; ///< A word of device memory: not 0 once a kernel has failed, and those behind it do nothing.
  CUdeviceptr report;
  const char* kernel;  ///< For the report alone: memory of the host.
  CUdeviceptr scratch; ///< A Scratch.
  int32_t phase;       ///< Which of the kernel's phases this launch is.
};

} // namespace openreg::cuda
