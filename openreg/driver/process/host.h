// Everything the driver has in the host.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device.h"
#include "objects.h"
#include "peers.h"
#include "pinned.h"
#include "settings.h"
#include "sim/handle.h"
#include "sim/module.h"
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

struct Host {
  explicit Host(const Settings& settings);

  const Settings settings;
  sim::HandleTable<Stream, sim::HandleKind::Stream, 16 * 1024> streams;
  sim::HandleTable<Event, sim::HandleKind::Event, 1024 * 1024> events;
  sim::HandleTable<Module, sim::HandleKind::Module, sim::kMaxModules> modules;
  sim::HandleTable<Kernel, sim::HandleKind::Kernel, 64 * 1024> kernels;
  sim::HandleTable<Gate, sim::HandleKind::Gate, kMaxGates> gates;
  std::mutex modulesMutex;
  std::set<std::string> kernelNames; ///< All that there ever were. Guarded by modulesMutex.
  Peers peers;
  std::vector<std::unique_ptr<Device>> devices;

  /// Throws std::system_error if the machine cannot give it.
  Shared& shared();

  /// Null before the first use of a device.
  Shared* sharedIfAny() const { return shared_.load(std::memory_order_acquire); }

  /// A function of the host has returned, or will not be called: who waits for it may go on.
  void advanceHostFence(int device, uint32_t lane, uint64_t value);

  Device& device(int index) const { return *devices[static_cast<size_t>(index)]; }

  /// The device that has, or had before a reset, that address; null if it is no device memory.
  Device* deviceOf(const void* ptr) const;

  /// The device is reset: its streams, events, modules and kernels are gone.
  void invalidateHandles(Device& device);

 private:
  std::mutex sharing_;
  std::atomic<Shared*> shared_{nullptr};
};

/// The one of this process, made at the first call; throws std::invalid_argument as long as the environment is not
/// understood. Never destroyed, as threads may be in a call while the process ends.
Host& host();

} // namespace openreg::process
