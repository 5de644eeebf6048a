// What an executor does with frames.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "openreg.h"
#include "process/wire/board.h"
#include "process/wire/channel.h"
#include "process/wire/frames.h"
#include "process/wire/shared_memory.h"
#include "process/wire/socket.h"
#include "ring_reader.h"
#include "sim/copy.h"
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
  /// Where a frame's bytes of a kind with variable data are.
  struct Rest {
    const char* bytes;
    size_t size;
  };

  void serve(const Header& frame);
  void rest();
  bool takeMessage();
  void answer(const Header& frame, orError_t error, const void* payload, size_t bytes);
  void answerWithText(const Header& frame, orError_t error);

  template <class T>
  const T& payloadOf(const Header& frame) const;
  template <class T>
  Rest restOf(const Header& frame) const;
  const char* textOf(const Header& frame, Rest rest) const;

  // Streams (streams.cpp).
  sim::Stream& stream(uint32_t number);
  void onStreamCreate(const StreamFrame& frame);
  void onStreamDestroy(const StreamFrame& frame);
  void onFence(const FenceFrame& frame);
  void onWait(const WaitFrame& frame);
  void advance(uint32_t stream, uint64_t value);
  void onNudge(const StreamFrame& frame);
  void onQuit();

  // Memory (memory.cpp).
  void onMalloc(const Header& frame);
  void onFree(const AddressFrame& frame);
  void onMemInfo(const Header& frame);
  void onCopy(const CopyFrame& frame);
  void onFill(const FillFrame& frame);
  bool place(sim::Place& place, Where where, uint64_t at, uint64_t size);
  void onPeerMemory(const PeerMemoryFrame& frame);
  void onPeerBlock(const PeerBlockFrame& frame);
  void onPin(const RangeFrame& frame);
  void onUnpin(const RangeFrame& frame);
  sim::Device& deviceAt(int32_t index);
  sim::Device& peerAt(int32_t index);

  // Kernels (kernels.cpp).
  void onModuleLoad(const Header& frame);
  void onModuleKernel(const Header& frame);
  void onLaunch(const Header& frame);

  const Descriptor& socket_;
  const std::vector<Descriptor> descriptors_; ///< Of channel, board, memory, pinned.
  View channelView_;
  View boardView_;
  View pinnedView_; ///< Without access but where a Pin has opened it.
  Channel& channel_;
  sim::Device& device_;
  RingReader reader_;
  std::map<int32_t, Descriptor> grants_; ///< Memory of peers that no frame has named yet.
  /// What is open in the pinned range.
  struct Pin {
    uint64_t bytes;
    std::shared_ptr<const void> uses; ///< Copies that have not ended have one, too.
  };
  std::map<uint64_t, Pin> pins_; ///< By offset.
  std::vector<sim::Stream*> streams_;
  std::array<std::atomic<uint64_t>, kMaxStreams> passed_{}; ///< How far each stream has come, whatever the board says.
  EventTimes times_;
  std::mutex answering_; ///< A module is loaded, and answered for, by a thread of its own.
  std::mutex failing_;   ///< Guards the failure's text on the board.
};

/// Answers the host's Hello and serves until the host is gone; the exit status.
int serve(const Descriptor& socket);

// Members that need their payload's type.

template <class T>
const T& Service::payloadOf(const Header& frame) const {
  if (frame.payload != sizeof(T)) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " of kind " + std::to_string(frame.kind) + " has " +
        std::to_string(frame.payload) + " bytes of payload; expected " + std::to_string(sizeof(T)));
  }
  return *reinterpret_cast<const T*>(&frame + 1);
}

template <class T>
Service::Rest Service::restOf(const Header& frame) const {
  if (frame.payload < sizeof(T)) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " of kind " + std::to_string(frame.kind) + " has " +
        std::to_string(frame.payload) + " bytes of payload; expected at least " + std::to_string(sizeof(T)));
  }
  return {reinterpret_cast<const char*>(&frame + 1) + sizeof(T), frame.payload - sizeof(T)};
}

} // namespace openreg::process
