// Peers.
#include "peers.h"

#include "host.h"

namespace openreg::process {

namespace {

template <class Payload>
void tell(Device& device, Kind kind, const Payload& payload) {
  if (const auto executor = device.running()) {
    executor->post(kind, {pieceOf(payload)});
  }
}

} // namespace

bool Peers::enable(Device& device, const Device& peer) {
  const std::lock_guard lock(mutex_);
  const bool changed = device.DeviceBase::enablePeer(peer);
  if (changed) {
    tell(device, Kind::PeerEnable, PeerFrame{.device = peer.index});
  }
  return changed;
}

bool Peers::disable(Device& device, const Device& peer) {
  const std::lock_guard lock(mutex_);
  const bool changed = device.DeviceBase::disablePeer(peer);
  if (changed) {
    tell(device, Kind::PeerDisable, PeerFrame{.device = peer.index});
  }
  return changed;
}

void Peers::greet(const Device& device, Executor& executor) {
  for (const auto& peer : host().devices) {
    if (device.canAccess(*peer)) {
      executor.post(Kind::PeerEnable, {pieceOf(PeerFrame{.device = peer->index})});
    }
  }
}

bool Peers::introduce(Device& device, Device& peer) {
  if ((knownBy_[peer.index].load(std::memory_order_acquire) & device.bit()) != 0) {
    return true;
  }
  const auto executor = device.executor(); // Started if need be, before our lock.
  const std::lock_guard lock(mutex_);
  const int memory = peer.memoryDescriptor();
  if (device.running() != executor || memory < 0) {
    return false; // One of them is being reset.
  }
  if ((knownBy_[peer.index].load() & device.bit()) != 0) {
    return true;
  }
  executor->grant(peer.index, memory);
  executor->post(
      Kind::PeerMemory, {pieceOf(
                            PeerMemoryFrame{
                                .device = peer.index,
                                .base = reinterpret_cast<uint64_t>(peer.memory.base()),
                                .bytes = peer.memory.total()})});
  // From here on announce() tells of what is new. What was allocated just before comes twice, which does no harm.
  peer.memory.forEach([&](const char* base, size_t size) {
    executor->post(
        Kind::PeerBlock,
        {pieceOf(PeerBlockFrame{.device = peer.index, .address = reinterpret_cast<uint64_t>(base), .size = size})});
  });
  knownBy_[peer.index].fetch_or(device.bit()); // Only now: who finds it set posts work that needs those frames.
  return true;
}

void Peers::announce(Device& device, const void* address, size_t size) {
  const std::lock_guard lock(
      mutex_); // Even if nobody knows the device yet: introduce() may just be listing its blocks.
  const uint32_t who = knownBy_[device.index].load();
  for (const auto& peer : host().devices) {
    if ((who & peer->bit()) != 0) {
      tell(
          *peer, Kind::PeerBlock,
          PeerBlockFrame{.device = device.index, .address = reinterpret_cast<uint64_t>(address), .size = size});
    }
  }
}

void Peers::forget(Device& device) {
  const std::lock_guard lock(mutex_);
  for (const auto& peer : host().devices) {
    knownBy_[peer->index].fetch_and(~device.bit()); // Its executor goes, and with it all it knew.
    device.DeviceBase::disablePeer(*peer);
    if (peer->DeviceBase::disablePeer(device)) {
      tell(*peer, Kind::PeerDisable, PeerFrame{.device = device.index});
    }
    if ((knownBy_[device.index].load() & peer->bit()) != 0) {
      tell(*peer, Kind::PeerForget, PeerFrame{.device = device.index});
    }
  }
  knownBy_[device.index].store(0);
}

} // namespace openreg::process
