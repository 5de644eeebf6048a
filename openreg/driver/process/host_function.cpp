// Functions of the host in a stream's order.
#include "host_function.h"

#include <deque>
#include <map>

#include "host.h"
#include "sim/threads.h"

namespace openreg::process {

namespace {

/// One function, and the fences around it.
struct Call {
  orHostFn_t function;
  void* userData;
  Point before;      ///< What it waits for.
  uint64_t promised; ///< What the lane's host fence becomes after it.
  uint64_t life;     ///< Of the device.
};

/// The functions of one lane.
struct LaneCalls {
  std::mutex order;       ///< Held from promise to push, so that both have one order. May be held for long.
  std::deque<Call> calls; ///< Those that have not returned, the oldest first. Guarded by mutex().
};

std::mutex& mutex() {
  static auto& it = *new std::mutex;
  return it;
}

LaneCalls& laneCalls(const Device& device, uint32_t lane) {
  static auto& lanes = *new std::map<std::pair<int, uint32_t>, LaneCalls>;
  const std::lock_guard lock(mutex());
  return lanes[{device.index, lane}];
}

void run(const Call& call) {
  Device& device = *call.before.device;
  device.wait(call.before);
  DeviceBoard& board = host().shared().board().devices[device.index];
  // Whoever has failed says so on the board before its fence moves: a failure before our turn is seen here.
  if (call.before.reached() && board.failed.load() == 0 && board.lost.load() == 0 && device.life() == call.life) {
    call.function(call.userData);
  }
  board.streams[call.before.lane].host.advance(call.promised);
}

/// Calls what is there, and ends when nothing is left; the next call starts another thread.
void work(LaneCalls& lane) {
  for (;;) {
    Call call{};
    {
      const std::lock_guard lock(mutex());
      call = lane.calls.front();
    }
    run(call);
    const std::lock_guard lock(mutex());
    lane.calls.pop_front(); // Not before it has run: a queue that is not empty has a thread.
    if (lane.calls.empty()) {
      return;
    }
  }
}

} // namespace

orError_t queueHostFunction(Stream& stream, uint64_t expected, orHostFn_t function, void* userData) {
  Device& device = *stream.device.load(std::memory_order_acquire);
  LaneCalls& lane = laneCalls(device, stream.lane.load());
  const std::lock_guard order(lane.order);
  Call call{function, userData, {}, 0, device.life()};
  if (const orError_t error = device.promise(stream, expected, call.before, call.promised)) {
    return error;
  }
  const std::lock_guard lock(mutex());
  lane.calls.push_back(call);
  if (lane.calls.size() == 1) {
    sim::startThread("or-function", [&lane] { work(lane); });
  }
  return orSuccess;
}

} // namespace openreg::process
