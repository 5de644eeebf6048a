// One device, seen from the host: its executor, its addresses, its lanes.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/device.h"
#include "common/lookup.h"
#include "common/visits.h"
#include "lane.h"
#include "process/executor.h"
#include "process/objects.h"
#include "process/wire/board.h"

namespace openreg::process {

struct Host;

/// A device and its life: unused, in use by an executor, lost, reset to unused. Its streams are lanes of frames; what
/// waits, waits for a point in a lane's work (docs/guide/isolated-device.md draws it).
///
/// device.cpp has its executor from start to reset, device_memory.cpp the books of its memory, device_lanes.cpp streams
/// and what is posted for them, device_points.cpp fences and waiting.
class Device : public DeviceBase {
 public:
  Device(int index, const Options& options, Host& host);

  /// For synchronising calls: the failure of the device's work, if there is one.
  orError_t surface();

  // --------------------------------------------------------------------------------------------------- memory

  void* allocate(size_t size);
  bool release(const void* ptr); ///< False if nothing starts there (any more).
  void info(size_t* free, size_t* total);

  // Memory shared between processes; see IpcCalls.
  std::optional<orIpcMemHandle> share(const char* base);
  void* open(SharedPart part);
  bool close(const char* base);

  // See DeviceBase; these tell the executor, too.
  bool enablePeer(const Device& peer);
  bool disablePeer(const Device& peer);

  // --------------------------------------------------------------------------------------------------- graphs

  using Program = process::Program;
  std::shared_ptr<const Program> instantiate(const GraphNodes& nodes);

  /// Posts a part of a graph; the point behind it. `works` are the records of its nodes, where they are to have some.
  Point
  launchPart(Stream& stream, uint64_t expected, const Program::Part& part, std::span<const orActivityRecord> works);

  /// The executor of that life need not keep those graphs.
  void forgetGraphs(uint64_t life, const std::vector<Program::Part>& parts);

  // -------------------------------------------------------------------------------------------------- streams

  uint64_t defaultStream(); ///< A handle; 0 if there are too many streams, as below.
  uint64_t createStream(int priority);

  /// Makes the handle invalid; false if `expected` is not the handle any more. Work already posted still runs, and
  /// calls that hold the stream go on.
  bool destroyStream(Stream& stream, uint64_t expected);

  /// See HeldStream.
  void hold(HeldStream& held, const Stream& stream, uint64_t expected);
  void letGo(HeldStream& held);

  // ------------------------------------------------------------------------------------------------ posted work

  /// Posts a frame whose payload starts with the number of the stream; the point behind it. `expected` is the handle
  /// the caller was given.
  /// `work` is its record, where it is to have one.
  template <class Payload>
  Point submit(
      Stream& stream,
      uint64_t expected,
      Kind kind,
      Payload payload,
      const orActivityRecord& work = {},
      Piece more = {},
      Piece most = {}) {
    std::unique_lock lock(mutex_);
    Lane& lane = admit(lock, stream, expected);
    payload.stream = lane.number;
    if (work.correlation != 0) [[unlikely]] {
      payload.correlation = work.correlation;
      expectRecord(work, expected);
    }
    put(lane, kind, {pieceOf(payload), more, most});
    return {this, lane.number, lane.end()};
  }

  /// The point behind all work of the stream so far, with its fence.
  Point endOf(Stream& stream, uint64_t expected);

  /// The same, and has the event's time taken there. The event's latest version is set in the order of the fences.
  void record(Stream& stream, uint64_t expected, Event& event, uint64_t eventHandle);

  /// Later work of the stream waits until the host has advanced the stream's other fence to `value`, which this gives,
  /// as well as the point before it.
  void waitForHost(Stream& stream, uint64_t expected, Point& before, uint64_t& value);

  // --------------------------------------------------------------------------------------------------- waiting

  Fence& fence(uint32_t lane) const;

  /// Whether a lane has come to a value. A fence that stands where it cannot, beyond what has been posted, is not
  /// believed: the next call that waits or surfaces ends the executor.
  bool reached(uint32_t lane, uint64_t value) const;

  /// Blocks until a point of this device is reached, its executor is lost, or it is reset. Posts the point's fence if
  /// that is still to come.
  void wait(const Point& point);

  /// Has the executor begin now with what has been posted, instead of after a nap.
  void hurry(uint32_t lane);

  /// Blocks until all that has been posted to its lanes is done, and all that calls under way still post.
  void drain();

  /// Until that point, work of another device may use this one's memory.
  void noteVisit(const Point& end) { visitors_.note(end); }

  /// Blocks until that is over, or the other device is lost: then nobody is left who uses the memory.
  void awaitVisitors() {
    visitors_.await([](const Point& end) { end.wait(); });
  }

  // -------------------------------------------------------------------------------------------- the executor

  /// The executor, started if there is none.
  std::shared_ptr<Executor> executor();

  /// The executor, if there is one.
  std::shared_ptr<Executor> running();

  /// A request to the executor; see Executor::request.
  template <class Answer>
  Answer request(Kind kind, std::initializer_list<Piece> pieces) {
    Answer answer;
    const auto it = executor();
    const orError_t error = it->request(kind, pieces, &answer, sizeof(answer));
    if (error == orErrorDeviceLost) {
      throw Refused{whyLost()};
    }
    require(error);
    return answer;
  }

  /// The executor of a life has said what cannot be: ends it. The error that calls get from now on.
  orError_t distrust(uint64_t life, const std::string& text);

  /// The error of a call that the loss of the device or a reset has overtaken.
  orError_t whyLost();

  /// Kills the executor.
  void lose();

  /// For tests: makes work take longer, in the executors to come too.
  void setDelay(int64_t kernelNs, int64_t copyNs);

  void reset();

  /// Grows with each reset: what was begun in an earlier life is not for this one.
  uint64_t life() const { return life_.load(std::memory_order_acquire); }

  /// The descriptor of its memory, for its peers; -1 if it has no executor.
  int memoryDescriptor();

 private:
  void postNode(uint32_t graph, const GraphNode& node);
  Lane& laneOf(const Stream& stream, uint64_t expected);
  void expectRecord(const orActivityRecord& work, uint64_t stream);
  void collectRecords();
  Lane& admit(std::unique_lock<std::mutex>& lock, Stream& stream, uint64_t expected);
  void put(Lane& lane, Kind kind, std::initializer_list<Piece> pieces);
  uint64_t putFence(Lane& lane, uint32_t event = kNoEvent, uint64_t version = 0);
  Point fencedEndOf(Lane& lane);
  void start(std::unique_lock<std::mutex>& lock);
  void lost(const Executor& executor, orError_t error, const std::string& text);
  void readBoard();
  void interruptWaiters();
  DeviceBoard& board() const;
  std::atomic<uint32_t>& lostWord() const;
  Lane* freeLane();
  void retire(Lane& lane);

  Host& host_;
  std::atomic<uint64_t> life_{0};

  std::array<std::atomic<uint64_t>, kMaxStreams> posted_{}; ///< Of each lane: the value of its last fence.
  std::atomic<bool> records_{false};                        ///< Some of its work is or was to be recorded.
  mutable std::atomic<uint64_t> astray_{0}; ///< 1 + the lane of a fence that was found beyond that; 0: none.

  Visitors<Point> visitors_;

  std::mutex mutex_; ///< Guards what follows, and the order of frames in each lane.
  std::condition_variable settled_;
  bool resetting_ = false;
  DelayFrame delay_; ///< Different from what OPENREG_SIM says only after setDelay.
  std::shared_ptr<Executor> executor_;
  SharedFile memoryFile_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  uint64_t holds_ = 0; ///< How many calls have held a lane so far.
  std::condition_variable letGo_;
  uint32_t graphs_ = 0; ///< How many there have been.
};

} // namespace openreg::process
