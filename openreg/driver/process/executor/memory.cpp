// Frames about memory and copies.
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "api/state.h"
#include "service.h"

namespace openreg::process {

void Service::onFree(const AddressFrame& frame) {
  device_.memory.release(reinterpret_cast<void*>(frame.address)); // The host has waited for what uses it.
}

bool Service::place(sim::Place& place, Where where, uint64_t at, uint64_t size) {
  switch (where) {
    case Where::Device: {
      const auto* ptr = reinterpret_cast<const char*>(at);
      const sim::Device* owner = sim::simulator().deviceOf(ptr);
      auto span = owner != nullptr ? owner->memory.span(ptr, size) : std::nullopt;
      if (!span) {
        return false; // Freed since the host looked: a program that frees what it uses.
      }
      place.span = std::move(*span);
      place.bytes = place.span.bytes;
      return true;
    }
    case Where::Pinned: {
      const Pin* pin = pinAt(at, size);
      if (pin == nullptr) {
        return false;
      }
      place.span = {pin->uses, pinnedView_.begin() + at};
      place.bytes = place.span.bytes;
      return true;
    }
  }
  return false;
}

/// The open block in which these bytes of the pinned range lie; null if none has them all.
const Service::Pin* Service::pinAt(uint64_t at, uint64_t size) const {
  const auto next = pins_.upper_bound(at);
  if (next == pins_.begin()) {
    return nullptr;
  }
  const auto& [offset, pin] = *std::prev(next);
  return at - offset <= pin.bytes && size <= pin.bytes - (at - offset) ? &pin : nullptr;
}

void Service::onCopy(const CopyFrame& frame) {
  if (GraphNodes* nodes = graphOf(frame.stream)) {
    return addCopy(*nodes, frame);
  }
  sim::Stream& it = stream(frame.stream);
  sim::Place to;
  sim::Place from;
  if (!place(to, frame.toWhere, frame.to, frame.size) || !place(from, frame.fromWhere, frame.from, frame.size)) {
    return refuse(orErrorIllegalAddress, "a copy of " + std::to_string(frame.size) + " bytes leaves its memory");
  }
  const Numbered number(frame.correlation);
  const bool quick = frame.size <= kCopyChunk && device_.copyDelayNs.load() == 0;
  if (quick && it.idle() && !device_.failure.exists()) {
    orActivityRecord record = workOf(orActivityMemcpy, "memcpy");
    record.startNs = record.correlation != 0 ? nowNs() : 0;
    std::memmove(to.bytes, from.bytes, frame.size); // Sooner done than a worker is woken.
    if (record.correlation != 0) {
      record.endNs = nowNs();
      recordWork(record);
    }
  } else {
    it.submit<sim::CopyCommand>(it.handle.load(), std::move(to), std::move(from), frame.size);
  }
}

void Service::onFill(const FillFrame& frame) {
  if (GraphNodes* nodes = graphOf(frame.stream)) {
    return addNode(*nodes, FillWork{reinterpret_cast<char*>(frame.address), frame.value, frame.size});
  }
  sim::Stream& it = stream(frame.stream);
  sim::Place to;
  if (!place(to, Where::Device, frame.address, frame.size)) {
    return refuse(orErrorIllegalAddress, "a fill of " + std::to_string(frame.size) + " bytes leaves its memory");
  }
  const Numbered number(frame.correlation);
  it.submit<sim::FillCommand>(it.handle.load(), std::move(to), frame.value, frame.size);
}

void Service::onPin(const RangeFrame& frame) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t all = pinnedView_.bytes();
  const auto next = pins_.lower_bound(frame.offset);
  const bool known = next != pins_.end() && next->first == frame.offset && next->second.bytes == frame.bytes;
  if (known) {
    return; // Two threads of the host have each been the first.
  }
  const bool fits = frame.offset % page == 0 && frame.bytes % page == 0 && frame.bytes != 0 && frame.offset < all &&
                    frame.bytes <= all - frame.offset;
  const bool overlaps =
      (next != pins_.end() && fits && next->first < frame.offset + frame.bytes) ||
      (next != pins_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > frame.offset);
  if (!fits || overlaps || !pinnedView_.open(descriptors_[kPinned], frame.offset, frame.bytes)) {
    throw Garbled(
        "a frame pins " + std::to_string(frame.bytes) + " bytes at offset " + std::to_string(frame.offset) +
        "; expected whole pages of the pinned range that are not pinned yet");
  }
  pins_[frame.offset] = {frame.bytes, std::make_shared<char>()};
}

void Service::onUnpin(const RangeFrame& frame) {
  const auto it = pins_.find(frame.offset);
  if (it == pins_.end() || it->second.bytes != frame.bytes) {
    throw Garbled("a frame unpins offset " + std::to_string(frame.offset) + ", which is not pinned so");
  }
  if (it->second.uses.use_count() >
      1) { // A host waits for its copies first. To close the pages would end them, and us.
    throw Garbled("a frame unpins offset " + std::to_string(frame.offset) + ", which a copy uses");
  }
  pinnedView_.close(frame.offset, frame.bytes); // Its pages may become somebody else's.
  pins_.erase(it);
}

void Service::onOpenMemory(const OpenMemoryFrame& frame) {
  const Descriptor file = granted(frame.address, "memory of another process");
  Memory& memory = deviceAt(frame.device).memory;
  const auto* base = reinterpret_cast<const char*>(frame.address);
  if (frame.offset % kMemoryAlignment != 0 || memory.noteReserved(base, frame.size) != Noted::Now) {
    throw Garbled(
        "a frame opens " + std::to_string(frame.size) + " bytes of another process at addresses they cannot have");
  }
  if (!memory.show(base, frame.size, file, frame.offset)) {
    memory.close(base);
    throw Refused{orDriverError(orErrorMemoryAllocation, "memory of another process cannot be mapped")};
  }
}

void Service::onCloseMemory(const PeerBlockFrame& frame) {
  if (frame.size != 0 || !deviceAt(frame.device).memory.close(reinterpret_cast<const char*>(frame.address))) {
    throw Garbled("a frame closes memory of another process that is not open");
  }
}

void Service::onPeerBlock(const PeerBlockFrame& frame) {
  Memory& memory = peerAt(frame.device).memory;
  const auto* base = reinterpret_cast<const char*>(frame.address);
  if (frame.size == 0) {
    memory.forget(base);
  } else if (memory.note(base, frame.size) == Noted::Not) {
    throw Garbled(
        "a frame says that device " + std::to_string(frame.device) + " has allocated " + std::to_string(frame.size) +
        " bytes where they cannot be");
  }
}

} // namespace openreg::process
