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
  sim::simulator().activity.start(
      [](const orActivityRecord* record, void* self) { static_cast<Service*>(self)->recordWork(*record); }, this);
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
    grants_[grant->address] = std::move(message.descriptors[0]);
  }
  return true; // Anything else is the doorbell.
}

void Service::serve(const Header& frame) {
  struct Handler {
    Kind kind;
    void (*serve)(Service&, const Header&);
  };
  static constexpr Handler kHandlers[] = {
      {Kind::Gap, nullptr}, // The reader passes it.
      {Kind::Ping, by<&Service::onPing>},
      {Kind::Quit, by<&Service::onQuit>},
      {Kind::StreamCreate, by<&Service::onStreamCreate>},
      {Kind::StreamDestroy, by<&Service::onStreamDestroy>},
      {Kind::Fence, by<&Service::onFence>},
      {Kind::Wait, by<&Service::onWait>},
      {Kind::Nudge, by<&Service::onNudge>},
      {Kind::Malloc, by<&Service::onMalloc>},
      {Kind::Free, by<&Service::onFree>},
      {Kind::MemInfo, by<&Service::onMemInfo>},
      {Kind::Copy, by<&Service::onCopy>},
      {Kind::Fill, by<&Service::onFill>},
      {Kind::ModuleLoad, [](Service& service, const Header& frame) { service.onModuleLoad(frame); }},
      {Kind::ModuleKernel, by<&Service::onModuleKernel>},
      {Kind::Launch, by<&Service::onLaunch>},
      {Kind::EventTime, by<&Service::onEventTime>},
      {Kind::PeerMemory, by<&Service::onPeerMemory>},
      {Kind::PeerForget, by<&Service::onPeerForget>},
      {Kind::PeerBlock, by<&Service::onPeerBlock>},
      {Kind::PeerEnable, by<&Service::onPeerEnable>},
      {Kind::PeerDisable, by<&Service::onPeerDisable>},
      {Kind::Delay, by<&Service::onDelay>},
      {Kind::Pin, by<&Service::onPin>},
      {Kind::Unpin, by<&Service::onUnpin>},
      {Kind::OpenMemory, by<&Service::onOpenMemory>},
      {Kind::CloseMemory, by<&Service::onCloseMemory>},
      {Kind::GraphCreate, by<&Service::onGraphCreate>},
      {Kind::GraphLaunch, by<&Service::onGraphLaunch>},
      {Kind::GraphDestroy, by<&Service::onGraphDestroy>},
  };
  static_assert(std::ranges::is_sorted(kHandlers, {}, &Handler::kind), "a handler is found by its kind's number");
  static_assert(std::size(kHandlers) == static_cast<size_t>(Kind::kCount));
  const Handler& handler = kHandlers[frame.kind];
  if (frame.flags != (requestName(handler.kind) != nullptr ? kWantsAnswer : 0)) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " is garbled: it is of kind " + std::to_string(frame.kind) +
        " and has the flags " + std::to_string(frame.flags));
  }
  handler.serve(*this, frame);
}

void Service::checkPayload(const Header& frame, size_t bytes, bool more) {
  if (more ? frame.payload < bytes : frame.payload != bytes) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " of kind " + std::to_string(frame.kind) + " has " +
        std::to_string(frame.payload) + " bytes of payload; expected " + (more ? "at least " : "") +
        std::to_string(bytes));
  }
}

void Service::onDelay(const DelayFrame& frame) {
  if (frame.kernelNs < 0 || frame.copyNs < 0) {
    throw Garbled("a frame names a delay below 0");
  }
  device_.setDelay(frame.kernelNs, frame.copyNs);
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

const char* Service::textOf(Rest rest) const {
  if (rest.size == 0 || rest.bytes[rest.size - 1] != '\0') {
    throw Garbled("a frame has a text without an end");
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
  const Descriptor file = granted(frame.base, "the memory of a peer");
  memory.reset();
  const auto& devices = sim::simulator().devices;
  const auto* base = reinterpret_cast<const char*>(frame.base);
  const bool known =
      frame.base > UINT64_MAX - frame.bytes || std::any_of(devices.begin(), devices.end(), [&](const auto& other) {
        const char* there = other->memory.base();
        return there != nullptr && there < base + frame.bytes && base < there + other->memory.addresses();
      });
  if (known || frame.bytes != memory.total()) {
    throw Garbled(
        "a frame names the memory of device " + std::to_string(frame.device) + " at addresses it cannot have");
  }
  memory.adopt(viewOf(frame.base, frame.bytes, file));
}

/// What has been granted for an address.
Descriptor Service::granted(uint64_t address, const char* what) {
  while (!grants_.contains(address)) {
    if (!awaitMessage(socket_, 0)) { // It has been sent before the frame, so it is there.
      throw Garbled("a frame names " + std::string(what) + ", which was not granted");
    }
    if (!takeMessage()) {
      _exit(0);
    }
  }
  return std::move(grants_.extract(address).mapped());
}

} // namespace openreg::process
