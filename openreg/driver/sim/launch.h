// A kernel in a stream's queue.
#pragma once

#include <cstddef>
#include <span>

#include "openreg_kernel.h"
#include "sim/stream/command.h"

namespace openreg::sim {

/// Its argument bytes, and behind them the descriptors of the pointers among them, lie directly behind the object.
class alignas(16) LaunchCommand final : public Command {
 public:
  LaunchCommand(
      const orKernelEntry& entry, const void* args, size_t argsSize, const orPointerArg* pointers, size_t pointerCount);

  void run(Stream& stream) override;

  bool describeWork(orActivityRecord& record) const override {
    record.kind = orActivityKernel;
    record.name = entry_.name;
    return true;
  }

  /// Bytes needed behind the object.
  static size_t extraBytes(size_t argsSize, size_t pointerCount) {
    return descriptorsAt(argsSize) + pointerCount * sizeof(orPointerArg);
  }

 private:
  static size_t descriptorsAt(size_t argsSize) { return (argsSize + 7) / 8 * 8; }

  char* args() { return reinterpret_cast<char*>(this + 1); }

  const orKernelEntry& entry_;
  uint32_t argsSize_;
  uint32_t pointerCount_;
};

/// Checks each pointer among the argument bytes, replaces it by the address in the view, and calls the kernel. False if
/// the device has failed before.
bool runKernel(Stream& stream, const orKernelEntry& entry, char* args, std::span<const orPointerArg> pointers);

} // namespace openreg::sim
