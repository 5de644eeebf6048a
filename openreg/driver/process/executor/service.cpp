// The executor's loop: takes frames, answers requests, sleeps, ends.
#include "service.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/state.h"

namespace openreg::process {

namespace {
std::shared_ptr<Space> viewOf(uint64_t base, uint64_t bytes, const Descriptor& memory) {
  auto space = Space::viewOf(reinterpret_cast<char*>(base), bytes, memory.number());
  if (space == nullptr) {
    throw std::runtime_error("device memory cannot be mapped");
  }
  return space;
}

bool isRequest(Kind kind) {
  switch (kind) {
    case Kind::Ping:
    case Kind::Malloc:
    case Kind::MemInfo:
    case Kind::ModuleLoad:
    case Kind::ModuleKernel:
    case Kind::EventTime:
      return true;
    default:
      return false;
  }
}

void withoutPayload(const Header& frame) {
  if (frame.payload != 0) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " of kind " + std::to_string(frame.kind) + " has " +
        std::to_string(frame.payload) + " bytes of payload; expected none");
  }
}
} // namespace

Service::Service(const Descriptor& socket, const Hello& hello, std::vector<Descriptor> descriptors)
    : socket_(socket), descriptors_(std::move(descriptors)), channelView_(descriptors_[kChannel], sizeof(Channel)),
      boardView_(descriptors_[kBoard], sizeof(Board), View::Access::Read), pinnedView_(hello.pinnedBytes),
      channel_(*channelView_.as<Channel>()), device_(deviceAt(hello.device)), reader_(channel_.ring),
      streams_(kMaxStreams) {
  device_.memory.adopt(viewOf(hello.memoryBase, hello.memoryBytes, descriptors_[kMemory]));
  const auto mine = static_cast<size_t>(reinterpret_cast<const char*>(&deviceBoard()) - boardView_.begin());
  if (!boardView_.open(descriptors_[kBoard], mine, sizeof(DeviceBoard))) {
    throw std::runtime_error("the board cannot be mapped");
  }
}

// LITERALINCLUDE START: EXECUTOR LOOP
void Service::run() {
  for (;;) {
    if (const Header* frame = reader_.next()) {
      serve(*frame);
      reader_.done(*frame);
    } else {
      rest();
    }
  }
}
// LITERALINCLUDE END: EXECUTOR LOOP

void Service::rest() {
  bool there = true;
  reader_.rest([&](int64_t timeoutNs) {
    if (awaitMessage(socket_, timeoutNs)) {
      there = takeMessage();
    }
  });
  if (!there) {
    _exit(0); // The host is gone. Kernels may be running: nothing to clean up is worth waiting for them.
  }
}

bool Service::takeMessage() {
  Message message;
  if (!receiveMessage(socket_, message)) {
    return false;
  }
  const auto* grant = message.as<Grant>(kMagic);
  if (grant != nullptr && message.descriptors.size() == 1) {
    grants_[grant->device] = std::move(message.descriptors[0]);
  }
  return true; // Anything else is the doorbell.
}

void Service::serve(const Header& frame) {
  if (frame.flags != (isRequest(static_cast<Kind>(frame.kind)) ? kWantsAnswer : 0)) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " is garbled: it is of kind " + std::to_string(frame.kind) +
        " and has the flags " + std::to_string(frame.flags));
  }
  if ((frame.flags & kWantsAnswer) != 0 && frame.deadlineNs < nowNs()) {
    const char text[] = "the request was late: its deadline had passed before it was served";
    return answer(frame, orErrorTimedOut, text, sizeof(text));
  }
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::Ping:
      withoutPayload(frame);
      return answer(frame, orSuccess, nullptr, 0);
    case Kind::Quit:
      withoutPayload(frame);
      return onQuit();
    case Kind::StreamCreate:
      return onStreamCreate(payloadOf<StreamFrame>(frame));
    case Kind::StreamDestroy:
      return onStreamDestroy(payloadOf<StreamFrame>(frame));
    case Kind::Fence:
      return onFence(payloadOf<FenceFrame>(frame));
    case Kind::Wait:
      return onWait(payloadOf<WaitFrame>(frame));
    case Kind::Nudge:
      return onNudge(payloadOf<StreamFrame>(frame));
    case Kind::Malloc:
      return onMalloc(frame);
    case Kind::Free:
      return onFree(payloadOf<AddressFrame>(frame));
    case Kind::MemInfo:
      withoutPayload(frame);
      return onMemInfo(frame);
    case Kind::Copy:
      return onCopy(payloadOf<CopyFrame>(frame));
    case Kind::Fill:
      return onFill(payloadOf<FillFrame>(frame));
    case Kind::ModuleLoad:
      return onModuleLoad(frame);
    case Kind::ModuleKernel:
      return onModuleKernel(frame);
    case Kind::Launch:
      return onLaunch(frame);
    case Kind::EventTime: {
      const TimeAnswer time{.ns = times_.get(payloadOf<EventFrame>(frame).event)};
      return answer(frame, orSuccess, &time, sizeof(time));
    }
    case Kind::PeerMemory:
      return onPeerMemory(payloadOf<PeerMemoryFrame>(frame));
    case Kind::PeerForget:
      return peerAt(payloadOf<PeerFrame>(frame).device).memory.reset();
    case Kind::PeerBlock:
      return onPeerBlock(payloadOf<PeerBlockFrame>(frame));
    case Kind::PeerEnable:
      return static_cast<void>(device_.enablePeer(peerAt(payloadOf<PeerFrame>(frame).device)));
    case Kind::PeerDisable:
      return static_cast<void>(device_.disablePeer(peerAt(payloadOf<PeerFrame>(frame).device)));
    case Kind::Delay: {
      const auto& delay = payloadOf<DelayFrame>(frame);
      if (delay.kernelNs < 0 || delay.copyNs < 0) {
        throw Garbled("a frame names a delay below 0");
      }
      device_.kernelDelayNs.store(delay.kernelNs);
      device_.copyDelayNs.store(delay.copyNs);
      return;
    }
    case Kind::Pin:
      return onPin(payloadOf<RangeFrame>(frame));
    case Kind::Unpin:
      return onUnpin(payloadOf<RangeFrame>(frame));
    case Kind::Gap:
    case Kind::kCount:
      return;
  }
}

void Service::answer(const Header& frame, orError_t error, const void* payload, size_t bytes) {
  const std::lock_guard lock(answering_);
  Answer& it = channel_.answer;
  it.magic = kMagic;
  it.error = error;
  it.number = frame.number;
  it.payload = static_cast<uint32_t>(bytes);
  if (bytes != 0) {
    std::memcpy(it.data, payload, bytes);
  }
  channel_.answered.advance(frame.number, [this] { return channel_.ring.sleepers.load() != 0; });
}

void Service::answerWithText(const Header& frame, orError_t error) {
  const char* text = api::thread.description; // What the simulator has said to orDriverError.
  answer(frame, error, text, strnlen(text, sizeof(Answer::data) - 1) + 1);
}

const char* Service::textOf(const Header& frame, Rest rest) const {
  if (rest.size == 0 || rest.bytes[rest.size - 1] != '\0') {
    throw Garbled("frame " + std::to_string(frame.number) + " has a text without an end");
  }
  return rest.bytes;
}

sim::Device& Service::deviceAt(int32_t index) {
  auto& devices = sim::simulator().devices;
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) {
    throw Garbled("a frame names device " + std::to_string(index) + " of " + std::to_string(devices.size()));
  }
  return *devices[static_cast<size_t>(index)];
}

sim::Device& Service::peerAt(int32_t index) {
  sim::Device& it = deviceAt(index);
  if (&it == &device_) {
    throw Garbled("a frame calls device " + std::to_string(index) + ", which is this one, a peer");
  }
  return it;
}

void Service::onPeerMemory(const PeerMemoryFrame& frame) {
  Memory& memory = peerAt(frame.device).memory;
  while (!grants_.contains(frame.device)) {
    if (!awaitMessage(socket_, 0)) { // It has been sent before the frame, so it is there.
      throw Garbled("a frame names the memory of device " + std::to_string(frame.device) + ", which was not granted");
    }
    if (!takeMessage()) {
      _exit(0);
    }
  }
  memory.reset();
  const auto& devices = sim::simulator().devices;
  const auto* base = reinterpret_cast<const char*>(frame.base);
  const bool known =
      frame.base > UINT64_MAX - frame.bytes || std::any_of(devices.begin(), devices.end(), [&](const auto& other) {
        const char* there = other->memory.base();
        return there != nullptr && there < base + frame.bytes && base < there + other->memory.total();
      });
  if (known || frame.bytes != memory.total()) {
    throw Garbled(
        "a frame names the memory of device " + std::to_string(frame.device) + " at addresses it cannot have");
  }
  memory.adopt(viewOf(frame.base, frame.bytes, grants_[frame.device]));
  grants_.erase(frame.device);
}

} // namespace openreg::process
