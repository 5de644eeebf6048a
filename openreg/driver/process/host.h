// Everything the driver has in the host.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/objects.h"
#include "copy.h"
#include "objects.h"
#include "peers.h"
#include "pinned.h"
#include "process/device/device.h"
#include "settings.h"
#include "wire/board.h"
#include "wire/shared_memory.h"

namespace openreg::process {

/// Memory that the host shares with all executors. Made at the first use of a device, not before: a process that forks
/// until then has a child like any other.
struct Shared {
  Shared();

  Descriptor boardMemory;
  View boardView;
  Pinned pinned;

  Board& board() const { return *boardView.as<Board>(); }
};

struct Host : Objects<Device, Stream, Event, Module, Kernel> {
  using Place = process::Place;

  explicit Host(const Settings& settings);

  const Settings settings;
  Peers peers;

  /// The one of this process, made at the first call; throws std::invalid_argument as long as the environment is not
  /// understood. Never destroyed, as threads may be in a call while the process ends.
  static Host& instance();

  /// Throws std::system_error if the machine cannot give it.
  Shared& shared();

  /// Null before the first use of a device.
  Shared* sharedIfAny() const { return shared_.load(std::memory_order_acquire); }

  /// A function of the host has returned, or will not be called: who waits for it may go on.
  void advanceHostFence(int device, uint32_t lane, uint64_t value);

  Pinned& pinned() { return shared().pinned; }
  Pinned* pinnedIfAny() const;

  // Handles.
  uint64_t loadModule(const char* name, Device& device);
  uint64_t getKernel(orModule_t module, const char* name);

 private:
  std::set<std::string> kernelNames_; ///< All that there ever were. Guarded by modulesMutex.
  std::mutex sharing_;
  std::atomic<Shared*> shared_{nullptr};
};

inline Host& host() {
  return Host::instance();
}

} // namespace openreg::process
