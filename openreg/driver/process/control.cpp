// This driver's part of openreg_sim.h.
#include <algorithm>
#include <cstring>

#include "common/calls.h"
#include "common/guarded.h"
#include "common/threads.h"
#include "host.h"
#include "openreg_driver.h"
#include "table.h"

namespace openreg::process {

namespace {

Gate* find(orSimGate_t gate) {
  return host().gates.find(number(gate));
}

orError_t invalid(orSimGate_t gate) {
  return invalidHandle("gate", "a gate", number(gate));
}

/// Opens the gate for the streams that stand there. Its fence has the number of the owners it has had.
void letThrough(Gate& gate) {
  const std::lock_guard lock(gate.mutex);
  gate.open = true;
  if (host().sharedIfAny() != nullptr) {
    Board& board = host().shared().board();
    board.host.gates[gate.index].advance(gate.generation, [&] { return board.somebodySleepsOn(Board::kHost); });
  }
}

orError_t gateCreate(orSimGate_t* gate, const char* name, int64_t deadlineNs) {
  Gate* it = host().gates.acquire();
  if (it == nullptr) {
    return orDriverError(orErrorMemoryAllocation, "there are too many gates; expected some to be destroyed first");
  }
  {
    const std::lock_guard lock(it->mutex);
    it->name = name;
    it->deadlineNs = deadlineNs;
    it->open = false;
  }
  *gate = handleOf<orSimGate_t>(host().gates.publish(*it));
  return orSuccess;
}

orError_t streamGate(orStream_t stream, orSimGate_t gate) {
  Stream* on = host().streams.find(number(stream));
  if (on == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Gate* it = find(gate);
  if (it == nullptr) {
    return invalid(gate);
  }
  if (const orError_t error = on->device().use()) {
    return error;
  }
  GateFrame frame;
  {
    const std::lock_guard lock(it->mutex);
    if (it->open) {
      return orSuccess;
    }
    frame.gate = it->index;
    frame.value = it->generation;
    frame.deadlineNs = it->deadlineNs;
    it->name.copy(frame.name, sizeof(frame.name) - 1);
  }
  return on->device().submit(*on, number(stream), Kind::Gate, frame);
}

orError_t gateOpen(orSimGate_t gate) {
  Gate* it = find(gate);
  if (it == nullptr) {
    return invalid(gate);
  }
  letThrough(*it);
  return orSuccess;
}

orError_t gateWaiting(orSimGate_t gate, int* waiting) {
  const Gate* it = find(gate);
  if (it == nullptr) {
    return invalid(gate);
  }
  *waiting = 0;
  if (Shared* shared = host().sharedIfAny()) {
    for (const DeviceBoard& device : shared->board().devices) {
      *waiting += std::clamp(device.gates[it->index].load(), 0, static_cast<int>(kMaxStreams));
    }
  }
  return orSuccess;
}

orError_t gateDestroy(orSimGate_t gate) {
  Gate* it = find(gate);
  uint64_t expected = number(gate);
  if (it == nullptr || !it->handle.compare_exchange_strong(expected, 0)) {
    return invalid(gate);
  }
  letThrough(*it);
  host().gates.release(*it);
  return orSuccess;
}

orError_t setDelay(int device, int64_t kernelNs, int64_t copyNs) {
  return host().device(device).setDelay({.kernelNs = kernelNs, .copyNs = copyNs});
}

orError_t loseDevice(int device) {
  host().device(device).lose();
  return orSuccess;
}

orError_t countThreads(int* count) {
  *count = threadCount(); // Those in the host.
  return orSuccess;
}

constexpr api::Controls kControls{
    .GateCreate = guarded<gateCreate>,
    .StreamGate = guarded<streamGate>,
    .GateOpen = guarded<gateOpen>,
    .GateWaiting = guarded<gateWaiting>,
    .GateDestroy = guarded<gateDestroy>,
    .SetDelay = guarded<setDelay>,
    .LoseDevice = guarded<loseDevice>,
    .ThreadCount = guarded<countThreads>,
};

} // namespace

const api::Controls& controls() {
  return kControls;
}

} // namespace openreg::process
