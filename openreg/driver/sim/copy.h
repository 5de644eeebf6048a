// Copies and fills: what their pointers point to, and the commands that do the work.
#pragma once

#include <cstddef>

#include "command.h"
#include "openreg.h"
#include "pinned.h"
#include "space.h"

namespace openreg::sim {

class Device;

/// One end of a copy, resolved: bytes that may be touched as long as this lives.
struct Place {
  Span span;             ///< Of device memory.
  char* bytes = nullptr; ///< Where to read or write.
  Pinned::Use pinned;    ///< Of pinned memory.
  bool onDevice = false;
};

/// Which kind of memory an end must be.
enum class Want { Device, Host, Either };

/// Finds the bytes behind a pointer of a copy.
/// @param place Receives them.
/// @param argument Name of the argument, for the message.
/// @param device The device whose memory it must be if it is device memory.
/// @return orErrorInvalidValue with what came and what was expected. Nothing is looked at if `size` is 0.
orError_t resolve(Place& place, const char* argument, const void* ptr, size_t size, Want want, const Device& device);

class CopyCommand final : public Command {
 public:
  CopyCommand(Place&& dst, Place&& src, size_t size);
  void run(Stream& stream) override;

 private:
  Place dst_;
  Place src_;
  size_t size_;
};

class FillCommand final : public Command {
 public:
  FillCommand(Place&& dst, int value, size_t size);
  void run(Stream& stream) override;

 private:
  Place dst_;
  int value_;
  size_t size_;
};

} // namespace openreg::sim
