// Which executors know the memory of which other devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "common/memory/shared_file.h"
#include "openreg.h"
#include "wire/protocol.h"

namespace openreg::process {

class Device;
class Executor;

/// The peer whose memory kernels of `device` may be given and an argument points into; null if it is its own, or none.
Device* peerOf(const Device& device, const void* args, const orPointerArg& argument);

/// A kernel or copy of one device that touches another's memory runs in the first one's executor, which therefore maps
/// that memory, and is told of its allocations. That happens when it is first needed: peers that nobody uses cost
/// nothing. Lock order: this one's mutex before a device's.
class Peers {
 public:
  // Whether kernels of `device` may be given memory of `peer`, from now on. False if it is so already.
  bool enable(Device& device, const Device& peer);
  bool disable(Device& device, const Device& peer);

  /// Sees to it that `device` knows the memory of `peer`. False if one of them is being reset.
  bool introduce(Device& device, Device& peer);

  /// `device` has allocated or (size 0) freed something.
  void announce(Device& device, const void* address, size_t size);

  /// Memory of another process has addresses of `device` from now on, for all who know its memory. Refuses the call if
  /// the executor cannot have it, or if `executor` is not the device's any more.
  void open(Device& device, const std::shared_ptr<Executor>& executor, const char* base, SharedPart part);

  /// It has them no longer; false if it hadn't.
  bool close(Device& device, const char* base);

  /// A new executor is told what had been enabled.
  void greet(const Device& device, Executor& executor);

  /// `device` is reset: its memory is gone, and access from and to it off.
  void forget(Device& device);

 private:
  /// Memory of another process.
  struct Opened {
    Device& device;
    SharedPart part;
  };

  static void show(Executor& executor, const char* base, const Opened& opened);

  std::mutex mutex_;
  std::map<const char*, Opened> opened_;         ///< By address.
  std::atomic<uint32_t> knownBy_[kMaxDevices]{}; ///< One bit for each device that knows this one's memory.
};

} // namespace openreg::process
