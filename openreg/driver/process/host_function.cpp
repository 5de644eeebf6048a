// Functions of the host in a stream's order.
#include "host_function.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <map>

#include "common/system/threads.h"
#include "host.h"

namespace openreg::process {

namespace {

/// One function, and the fences around it.
struct Call {
  orHostFn_t function;
  void* userData;
  bool always;               ///< The driver's own: called even if the device fails before its turn, and not recorded.
  uint64_t life;             ///< Of the device.
  Point before{};            ///< What it waits for.
  uint64_t fence = 0;        ///< What the lane's host fence becomes after it.
  bool ready = false;        ///< Whether that has been agreed with the executor.
  orActivityRecord record{}; ///< If it is to be recorded.
};

/// The functions of one lane.
struct LaneCalls {
  std::mutex order; ///< Held from add() until the frame is posted, so that both have one order. May be held for long.
  std::deque<Call> calls; ///< Those that have not returned, the oldest first. Guarded by mutex(), and so is the rest.
  bool working = false;   ///< Whether they have a thread.
  std::condition_variable changed; ///< The newest is ready, or gone.
};

std::mutex& mutex() {
  static auto& it = *new std::mutex;
  return it;
}

/// Functions that are being called, by device. Guarded by mutex().
struct Running {
  std::array<int, kMaxDevices> count{};
  std::condition_variable changed;
};

Running& running() {
  static auto& it = *new Running;
  return it;
}

LaneCalls& laneCalls(const Device& device, uint32_t lane) {
  static auto& lanes = *new std::map<std::pair<int, uint32_t>, LaneCalls>;
  const std::lock_guard lock(mutex());
  return lanes[{device.index, lane}];
}

/// Counts a call as running if it is to be made. In one step with the look at the device's life: a reset, which ends
/// that first, either finds the call counted or keeps it from being made.
bool begin(const Call& call) {
  const Device& device = *call.before.device;
  const Board& board = host().shared().board();
  const std::lock_guard lock(mutex());
  // Whoever has failed says so on the board before its fence moves: a failure before our turn is seen here.
  const bool failed = board.devices[device.index].failed.load() != 0 || board.host.lost[device.index].load() != 0;
  if (failed || !call.before.reached() || device.life() != call.life) {
    return false;
  }
  ++running().count[static_cast<size_t>(device.index)];
  return true;
}

void run(const Call& call) {
  Device& device = *call.before.device;
  device.wait(call.before);
  if (begin(call)) {
    orActivityRecord record = call.record;
    record.startNs = nowNs();
    call.function(call.userData);
    record.endNs = nowNs();
    if (record.correlation != 0) [[unlikely]] {
      host().activity.deliver(record); // Before the fence behind it.
    }
    const std::lock_guard lock(mutex());
    --running().count[static_cast<size_t>(device.index)];
    running().changed.notify_all();
  } else if (call.always) {
    call.function(call.userData);
  }
  // A reset that began meanwhile drops what is behind the call. It moves the fences itself, when the executor has gone.
  if (device.life() == call.life) {
    host().advanceHostFence(device.index, call.before.lane, call.fence);
  }
}

/// Calls what is there, and ends when nothing is left; the next call starts another thread.
void work(LaneCalls& lane) {
  std::unique_lock lock(mutex());
  for (;;) {
    lane.changed.wait(lock, [&] { return lane.calls.empty() || lane.calls.front().ready; });
    if (lane.calls.empty()) {
      lane.working = false;
      return;
    }
    const Call call = lane.calls.front();
    lock.unlock();
    run(call);
    lock.lock();
    lane.calls.pop_front();
  }
}

/// Adds a call that is not ready. What the host may lack, memory and a thread, comes before anything is posted.
void add(LaneCalls& lane, const Call& call) {
  const std::lock_guard lock(mutex());
  lane.calls.push_back(call);
  if (!lane.working) {
    try {
      startThread("or-function", [&lane] { work(lane); });
    } catch (...) {
      lane.calls.pop_back();
      throw;
    }
    lane.working = true;
  }
}

/// Ends what add() has begun: the call has its turn if it is ready, or else was never there.
void settle(LaneCalls& lane, const Call& call) {
  const std::lock_guard lock(mutex());
  if (call.ready) {
    lane.calls.back() = call;
  } else {
    lane.calls.pop_back();
  }
  lane.changed.notify_all();
}

} // namespace

void Stream::queueHostFunction(uint64_t expected, orHostFn_t function, void* userData, bool always) {
  LaneCalls& calls = laneCalls(device(), lane());
  const std::lock_guard order(calls.order);
  Call call{function, userData, always, device().life()};
  if (!always) {
    call.record = workOf(orActivityHostFunction, "host function");
    call.record.device = device().index;
    call.record.stream = openreg::handleOf<orStream_t>(expected);
  }
  add(calls, call);
  try {
    device().waitForHost(*this, expected, call.before, call.fence);
    call.ready = true;
  } catch (...) {
    settle(calls, call);
    throw;
  }
  settle(calls, call);
}

void awaitHostFunctions(const Device& device) {
  std::unique_lock lock(mutex());
  running().changed.wait(lock, [&] { return running().count[static_cast<size_t>(device.index)] == 0; });
}

} // namespace openreg::process
