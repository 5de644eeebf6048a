// The ends of a copy, and copies of memory that executors cannot reach.
#pragma once

#include <cstddef>
#include <cstdint>

#include "objects.h"
#include "openreg.h"
#include "wire/frames.h"

namespace openreg::process {

/// One end of a copy as a frame can name it.
struct Place {
  const char* host = nullptr; ///< Address in the host; null for device memory.
  bool pageable = false;      ///< Only the host can reach it.
  Where where = Where::Device;
  uint64_t at = 0; ///< See Where.
};

/// Which kind of memory an end must be.
enum class Want { Device, Host, Either };

/// Finds what a pointer of a copy points to.
/// @param argument Name of the argument, for the message.
/// @param device The device whose memory it must be if it is device memory.
/// @return orErrorInvalidValue with what came and what was expected. Nothing is looked at if `size` is 0.
orError_t resolve(Place& place, const char* argument, const void* ptr, size_t size, Want want, Device& device);

/// A copy whose host end is pageable, through the staging area; blocks until it is done. The stream has been drained.
orError_t copyStaged(Stream& stream, uint64_t handle, const Place& dst, const Place& src, size_t size);

} // namespace openreg::process
