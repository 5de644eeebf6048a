// The ends of a copy, and copies of memory that executors cannot reach.
#pragma once

#include <cstddef>
#include <cstdint>

#include "openreg.h"
#include "wire/frames.h"

namespace openreg::process {

class Device;
class Stream;

/// One end of a copy as a frame can name it.
struct Place {
  const char* host = nullptr; ///< Address in the host; null for device memory.
  bool pageable = false;      ///< Only the host can reach it.
  Where where = Where::Device;
  uint64_t at = 0; ///< See Where.

  // See common/copy_calls.h.
  bool resolveDevice(const void* ptr, size_t size, const Device& device);
  bool resolveHost(const void* ptr, size_t size, const Device& device);
  bool mayBeQueued() const { return !pageable; }
};

/// The record of a copy that is to be made, whose ends on the host are pinned. `peer` as in orActivityRecord.
orActivityRecord copyWork(bool toHost, bool fromHost, size_t size, int peer);

/// A copy whose host end is pageable, through pinned memory of our own; blocks until it is done. The stream has been
/// drained.
void copyPageable(Stream& stream, uint64_t handle, const Place& dst, const Place& src, size_t size);

} // namespace openreg::process
