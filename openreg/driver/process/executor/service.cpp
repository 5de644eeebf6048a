// The executor's loop: takes frames, answers requests, sleeps, ends.
#include "service.h"

#include <unistd.h>

#include <cstring>

#include "api/state.h"

namespace openreg::process {

namespace {
std::shared_ptr<sim::Space> viewOf(uint64_t base, uint64_t bytes, const Descriptor& memory) {
  auto space = sim::Space::viewOf(reinterpret_cast<char*>(base), bytes, memory.number());
  if (space == nullptr) {
    throw std::runtime_error("device memory cannot be mapped");
  }
  return space;
}
} // namespace

Service::Service(const Descriptor& socket, const Hello& hello, std::vector<Descriptor> descriptors)
    : socket_(socket), descriptors_(std::move(descriptors)), channelView_(descriptors_[kChannel], sizeof(Channel)),
      boardView_(descriptors_[kBoard], sizeof(Board)), pinnedView_(descriptors_[kPinned], hello.pinnedBytes),
      channel_(*channelView_.as<Channel>()), device_(deviceAt(hello.device)), reader_(channel_.ring),
      streams_(kMaxStreams) {
  device_.memory.adopt(viewOf(hello.memoryBase, hello.memoryBytes, descriptors_[kMemory]));
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
  if ((frame.flags & kWantsAnswer) != 0 && frame.deadlineNs < sim::nowNs()) {
    const char text[] = "the request was late: its deadline had passed before it was served";
    return answer(frame, orErrorTimedOut, text, sizeof(text));
  }
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::Ping:
      return answer(frame, orSuccess, nullptr, 0);
    case Kind::Quit:
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
      return deviceAt(payloadOf<PeerFrame>(frame).device).memory.reset();
    case Kind::PeerBlock:
      return onPeerBlock(payloadOf<PeerBlockFrame>(frame));
    case Kind::PeerEnable:
      return static_cast<void>(device_.enablePeer(deviceAt(payloadOf<PeerFrame>(frame).device)));
    case Kind::PeerDisable:
      return static_cast<void>(device_.disablePeer(deviceAt(payloadOf<PeerFrame>(frame).device)));
    case Kind::Gate:
      return onGate(payloadOf<GateFrame>(frame));
    case Kind::Delay: {
      const auto& delay = payloadOf<DelayFrame>(frame);
      device_.kernelDelayNs.store(delay.kernelNs);
      device_.copyDelayNs.store(delay.copyNs);
      return;
    }
    case Kind::Gap:
    case Kind::kCount:
      return;
  }
}

void Service::answer(const Header& frame, orError_t error, const void* payload, size_t bytes) {
  Answer& it = channel_.answer;
  it.magic = kMagic;
  it.error = error;
  it.number = frame.number;
  it.payload = static_cast<uint32_t>(bytes);
  if (bytes != 0) {
    std::memcpy(it.data, payload, bytes);
  }
  channel_.answered.advance(frame.number);
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

void Service::onPeerMemory(const PeerMemoryFrame& frame) {
  while (!grants_.contains(frame.device)) {
    if (!takeMessage()) { // It has been sent before the frame, so it is there or on its way.
      _exit(0);
    }
  }
  sim::Memory& memory = deviceAt(frame.device).memory;
  memory.reset();
  memory.adopt(viewOf(frame.base, frame.bytes, grants_[frame.device]));
  grants_.erase(frame.device);
}

} // namespace openreg::process
