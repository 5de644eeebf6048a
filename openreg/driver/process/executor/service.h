// What an executor does with frames.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "api/state.h"
#include "common/refused.h"
#include "openreg.h"
#include "process/wire/board.h"
#include "process/wire/channel.h"
#include "process/wire/frames.h"
#include "process/wire/shared_memory.h"
#include "process/wire/socket.h"
#include "ring_reader.h"
#include "sim/copy.h"
#include "sim/graph.h"
#include "sim/simulator.h"

namespace openreg::process {

/// The times of events whose fences have been reached.
class EventTimes {
 public:
  void set(uint32_t event, uint64_t version, int64_t ns);
  int64_t get(uint32_t event);

 private:
  struct Time {
    uint64_t version = 0;
    int64_t ns = 0;
  };
  std::mutex mutex_;
  std::map<uint32_t, Time> times_;
};

/// An executor at work. Frames are served by one thread, which never waits for a stream; the simulator's workers do the
/// work.
class Service {
 public:
  Service(const Descriptor& socket, const Hello& hello, std::vector<Descriptor> descriptors);

  /// Serves frames until the host is gone. Throws Garbled.
  [[noreturn]] void run();

  // For commands on the simulator's workers.
  const Board& board() const { return *boardView_.as<Board>(); }

  /// Our own part of it, and all that can be written to.
  DeviceBoard& deviceBoard() const { return boardView_.as<Board>()->devices[device_.index]; }

  /// Blocks until a fence of `owner`, a device or Board::kHost, comes so far, or `released()`.
  template <class Released>
  bool wait(const Fence& fence, uint64_t value, int owner, int64_t sliceNs, Released released) const {
    return fence.wait(value, sliceNs, deviceBoard().sleepers[owner], released);
  }

  /// A stream has come to a fence: tells who waits, and before that whether the device has failed.
  void pass(const FenceFrame& fence);

  /// Another frame is wrong in itself: the device fails.
  void refuse(orError_t error, const std::string& text) { device_.fail(error, text); }

 private:
  /// What is open in the pinned range.
  struct Pin {
    uint64_t bytes;
    std::shared_ptr<const void> uses; ///< Copies that have not ended have one, too.
  };

  /// Nodes are added until the first launch, from which on a worker may be reading them.
  struct Graph {
    std::shared_ptr<sim::Program> program = std::make_shared<sim::Program>();
    bool launched = false;
  };

  /// The bytes behind the payload, of a kind that has some.
  struct Rest {
    const char* bytes;
    size_t size;
  };

  void serve(const Header& frame);
  void rest();
  bool takeMessage();
  void answer(const Header& frame, orError_t error, const void* payload, size_t bytes);
  const char* textOf(Rest rest) const;

  // A frame as what serves it takes it: nothing, a payload, or a payload and the rest.
  template <class Result>
  void call(Result (Service::*handler)(), const Header& frame) {
    checkPayload(frame, 0, false);
    reply(frame, [&] { return (this->*handler)(); });
  }
  template <class Result, class Payload>
  void call(Result (Service::*handler)(const Payload&), const Header& frame) {
    checkPayload(frame, sizeof(Payload), false);
    reply(frame, [&] { return (this->*handler)(*reinterpret_cast<const Payload*>(&frame + 1)); });
  }
  template <class Result, class Payload>
  void call(Result (Service::*handler)(const Payload&, Rest), const Header& frame) {
    checkPayload(frame, sizeof(Payload), true);
    const auto* payload = reinterpret_cast<const Payload*>(&frame + 1);
    const Rest rest{reinterpret_cast<const char*>(payload + 1), frame.payload - sizeof(Payload)};
    reply(frame, [&] { return (this->*handler)(*payload, rest); });
  }
  template <auto kHandler>
  static void by(Service& service, const Header& frame) {
    service.call(kHandler, frame);
  }
  static void checkPayload(const Header& frame, size_t bytes, bool more);

  /// Serves a frame. A request is answered with what `work` returns, or why it cannot be; if another frame cannot be
  /// served, the device fails.
  template <class Work>
  void reply(const Header& frame, Work work) {
    try {
      if constexpr (!std::is_void_v<decltype(work())>) {
        const auto given = work();
        answer(frame, orSuccess, &given, sizeof(given));
      } else {
        work();
        if (frame.flags == kWantsAnswer) {
          answer(frame, orSuccess, nullptr, 0);
        }
      }
    } catch (const Refused& refused) {
      const char* text = api::thread.description; // What orDriverError has been told.
      if (frame.flags == kWantsAnswer) {
        answer(frame, refused.error, text, strnlen(text, sizeof(Answer::data) - 1) + 1);
      } else {
        refuse(refused.error, text);
      }
    }
  }

  /// A call's number for what a frame of it submits here.
  class Numbered {
   public:
    explicit Numbered(uint64_t correlation) { api::thread.correlation = correlation; }
    ~Numbered() { api::thread.correlation = 0; }
    Numbered(const Numbered&) = delete;
    Numbered& operator=(const Numbered&) = delete;
  };

  // Records (records.cpp).
  void recordWork(const orActivityRecord& record);

  void onPing() {}
  void onDelay(const DelayFrame& frame);

  // Streams (streams.cpp).
  sim::Stream& stream(uint32_t number);
  void onStreamCreate(const StreamFrame& frame);
  void onStreamDestroy(const StreamFrame& frame);
  void onFence(const FenceFrame& frame);
  void onWait(const WaitFrame& frame);
  void advance(uint32_t stream, uint64_t value);
  void onNudge(const StreamFrame& frame);
  void onQuit();
  TimeAnswer onEventTime(const EventFrame& frame) { return {.ns = times_.get(frame.event)}; }

  // Memory (memory.cpp).
  AddressFrame onMalloc(const SizeFrame& frame) {
    return {.address = reinterpret_cast<uint64_t>(device_.allocate(frame.size))};
  }
  void onFree(const AddressFrame& frame);
  MemInfoAnswer onMemInfo() { return {.free = device_.memory.free(), .total = device_.memory.total()}; }
  void onCopy(const CopyFrame& frame);
  void onFill(const FillFrame& frame);
  bool place(sim::Place& place, Where where, uint64_t at, uint64_t size);
  const Pin* pinAt(uint64_t at, uint64_t size) const;
  void onPeerMemory(const PeerMemoryFrame& frame);
  void onPeerForget(const PeerFrame& frame) { peerAt(frame.device).memory.reset(); }
  void onPeerEnable(const PeerFrame& frame) { device_.enablePeer(peerAt(frame.device)); }
  void onPeerDisable(const PeerFrame& frame) { device_.disablePeer(peerAt(frame.device)); }
  void onPeerBlock(const PeerBlockFrame& frame);
  void onOpenMemory(const OpenMemoryFrame& frame);
  void onCloseMemory(const PeerBlockFrame& frame);
  Descriptor granted(uint64_t address, const char* what);
  void onPin(const RangeFrame& frame);
  void onUnpin(const RangeFrame& frame);
  sim::Device& deviceAt(int32_t index);
  sim::Device& peerAt(int32_t index);

  // Kernels (kernels.cpp).
  void onModuleLoad(const Header& frame);
  KernelAnswer onModuleKernel(const HandleFrame& frame, Rest name);
  void onLaunch(const LaunchFrame& frame, Rest rest);

  // Graphs (graphs.cpp).
  GraphNodes* graphOf(uint32_t stream);
  void addNode(GraphNodes& nodes, GraphWork&& work);
  void addCopy(GraphNodes& nodes, const CopyFrame& frame);
  void onGraphCreate(const GraphFrame& frame);
  void onGraphLaunch(const GraphLaunchFrame& frame);
  void onGraphDestroy(const GraphFrame& frame);

  const Descriptor& socket_;
  const std::vector<Descriptor> descriptors_; ///< Of channel, board, memory, pinned.
  View channelView_;
  View boardView_;
  View pinnedView_; ///< Without access but where a Pin has opened it.
  Channel& channel_;
  sim::Device& device_;
  RingReader reader_;
  std::map<uint64_t, Descriptor> grants_; ///< Memory that no frame has named yet, by address.
  std::map<uint64_t, Pin> pins_;          ///< By offset.
  std::map<uint32_t, Graph> graphs_;      ///< By the host's number.
  std::vector<sim::Stream*> streams_;
  std::array<std::atomic<uint64_t>, kMaxStreams> passed_{}; ///< How far each stream has come, whatever the board says.
  EventTimes times_;
  std::mutex answering_; ///< A module is loaded, and answered for, by a thread of its own.
  std::mutex failing_;   ///< Guards the failure's text on the board.
  std::mutex recording_; ///< Guards the writer's end of the records.
  uint64_t recorded_ = 0;
};

/// Answers the host's Hello and serves until the host is gone; the exit status.
int serve(const Descriptor& socket);

} // namespace openreg::process
