// Frames about memory and copies.
#include <cstring>

#include "api/state.h"
#include "service.h"
#include "sim/calls.h"

namespace openreg::process {

void Service::onMalloc(const Header& frame) {
  void* memory = nullptr;
  if (const orError_t error = sim::malloc(&memory, payloadOf<SizeFrame>(frame).size, device_.index)) {
    return answerWithText(frame, error);
  }
  const AddressFrame given{.address = reinterpret_cast<uint64_t>(memory)};
  answer(frame, orSuccess, &given, sizeof(given));
}

void Service::onFree(const AddressFrame& frame) {
  device_.memory.release(reinterpret_cast<void*>(frame.address)); // The host has waited for what uses it.
}

void Service::onMemInfo(const Header& frame) {
  const MemInfoAnswer info{.free = device_.memory.free(), .total = device_.memory.total()};
  answer(frame, orSuccess, &info, sizeof(info));
}

bool Service::place(sim::Place& place, Where where, uint64_t at, uint64_t size) {
  const auto inside = [&](uint64_t bytes) { return at <= bytes && size <= bytes - at; };
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
    case Where::Pinned:
      place.bytes = pinnedView_.begin() + at;
      return inside(pinnedView_.bytes());
    case Where::Staging:
      place.bytes = reinterpret_cast<char*>(channel_.staging) + at;
      return inside(sizeof(channel_.staging));
  }
  return false;
}

void Service::onCopy(const CopyFrame& frame) {
  sim::Stream& it = stream(frame.stream);
  sim::Place to;
  sim::Place from;
  if (!place(to, frame.toWhere, frame.to, frame.size) || !place(from, frame.fromWhere, frame.from, frame.size)) {
    return refuse(orErrorIllegalAddress, "a copy of " + std::to_string(frame.size) + " bytes leaves its memory");
  }
  const bool quick = frame.size <= kStagingChunk && device_.copyDelayNs.load() == 0;
  if (quick && it.idle() && !device_.failure.exists()) {
    std::memmove(to.bytes, from.bytes, frame.size); // Sooner done than a worker is woken.
  } else {
    it.submit<sim::CopyCommand>(it.handle.load(), std::move(to), std::move(from), frame.size);
  }
}

void Service::onFill(const FillFrame& frame) {
  sim::Stream& it = stream(frame.stream);
  sim::Place to;
  if (!place(to, Where::Device, frame.address, frame.size)) {
    return refuse(orErrorIllegalAddress, "a fill of " + std::to_string(frame.size) + " bytes leaves its memory");
  }
  it.submit<sim::FillCommand>(it.handle.load(), std::move(to), frame.value, frame.size);
}

void Service::onPeerBlock(const PeerBlockFrame& frame) {
  sim::Memory& memory = deviceAt(frame.device).memory;
  const auto* base = reinterpret_cast<const char*>(frame.address);
  if (frame.size != 0 && memory.covers(base)) {
    memory.note(base, frame.size);
  } else {
    memory.forget(base);
  }
}

} // namespace openreg::process
