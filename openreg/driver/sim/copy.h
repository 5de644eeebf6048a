// Copies and fills: what their pointers point to, and the commands that do the work.
#pragma once

#include <cstddef>

#include "common/memory/space.h"
#include "pinned.h"
#include "sim/stream/command.h"

namespace openreg::sim {

class Device;

/// One end of a copy, resolved: bytes that may be touched as long as this lives.
struct Place {
  Span span;             ///< Of device memory.
  char* bytes = nullptr; ///< Where to read or write.
  Pinned::Use pinned;    ///< Of pinned memory.

  // See common/copy_calls.h.
  bool resolveDevice(const void* ptr, size_t size, const Device& device);
  bool resolveHost(const void* ptr, size_t size, const Device& device);
  bool mayBeQueued() const { return span.held != nullptr || pinned; }
};

class CopyCommand final : public Command {
 public:
  CopyCommand(Place&& dst, Place&& src, size_t size, int peer = -1);
  void run(Stream& stream) override;
  bool describeWork(orActivityRecord& record) const override;

 private:
  Place dst_;
  Place src_;
  size_t size_;
  int peer_;
};

/// Says in a record what a copy is.
void describeCopy(orActivityRecord& record, const Place& dst, const Place& src, size_t size);

class FillCommand final : public Command {
 public:
  FillCommand(Place&& dst, int value, size_t size);
  void run(Stream& stream) override;
  bool describeWork(orActivityRecord& record) const override;

 private:
  Place dst_;
  int value_;
  size_t size_;
};

} // namespace openreg::sim
