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
  executor->grant(peer.memory.base(), memory);
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
  for (const auto& [base, opened] : opened_) {
    if (&opened.device == &peer) {
      show(*executor, base, opened);
    }
  }
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

void Peers::show(Executor& executor, const char* base, const Opened& opened) {
  const OpenMemoryFrame frame{
      .device = opened.device.index,
      .address = reinterpret_cast<uint64_t>(base),
      .size = opened.part.bytes,
      .offset = opened.part.offset};
  executor.grant(base, opened.part.file.number());
  const orError_t error = executor.request(Kind::OpenMemory, {pieceOf(frame)});
  if (error == orErrorDeviceLost) {
    throw Refused{opened.device.whyLost()};
  }
  require(error);
}

void Peers::open(Device& device, const std::shared_ptr<Executor>& executor, const char* base, SharedPart part) {
  const std::lock_guard lock(mutex_);
  if (device.running() != executor) {
    throw Refused{device.whyLost()};
  }
  Opened opened{device, std::move(part)};
  show(*executor, base, opened);
  for (const auto& peer : host().devices) {
    const auto other = peer->running();
    if ((knownBy_[device.index].load() & peer->bit()) != 0 && other != nullptr) {
      try {
        show(*other, base, opened);
      } catch (const Refused&) {
        other->distrust("cannot open memory that another device of this process has open");
      }
    }
  }
  opened_.emplace(base, std::move(opened));
}

bool Peers::close(Device& device, const char* base) {
  const std::lock_guard lock(mutex_);
  if (opened_.erase(base) == 0) {
    return false;
  }
  const PeerBlockFrame frame{.device = device.index, .address = reinterpret_cast<uint64_t>(base)};
  for (const auto& one : host().devices) {
    if (one.get() == &device || (knownBy_[device.index].load() & one->bit()) != 0) {
      tell(*one, Kind::CloseMemory, frame);
    }
  }
  device.memory.close(base); // Only now can another thread be given the addresses, and send frames about them.
  return true;
}

void Peers::forget(Device& device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(opened_, [&](const auto& it) { return &it.second.device == &device; });
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
