/**
 * @file board.h
 * @brief The board: shared memory in which the host and all executors see how far every stream has come.
 */
#pragma once

#include "fence.h"
#include "protocol.h"

namespace openreg::process {

/// Of one stream.
struct StreamBoard {
  Fence device; ///< FenceKind::Device.
  Fence host;   ///< FenceKind::Host.
};

/// Of one device.
struct DeviceBoard {
  std::atomic<uint32_t> lost{0};   ///< Written by the host: its executor is gone, nobody should wait for it.
  std::atomic<uint32_t> failed{0}; ///< Written by the executor after `error` and `text`: work has failed.
  int32_t error = 0;
  char text[1024] = "";
  char lastWords[500] = ""; ///< Why the executor is about to exit by itself; "" if it does not say.
  StreamBoard streams[kMaxStreams];
};

/// A gate of openreg_sim.h. It is open once its fence has the value that its frame names.
struct GateBoard {
  Fence opened;
  std::atomic<int32_t> waiting[kMaxDevices]{}; ///< Streams of each device that stand there.
};

constexpr uint32_t kMaxGates = 4096;

struct Board {
  DeviceBoard devices[kMaxDevices];
  GateBoard gates[kMaxGates];

  Fence& fence(int device, uint32_t stream, bool host) {
    StreamBoard& it = devices[device].streams[stream];
    return host ? it.host : it.device;
  }
};

} // namespace openreg::process
