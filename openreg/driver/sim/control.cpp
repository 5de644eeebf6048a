// The simulator's part of openreg_sim.h.
#include "control.h"

#include "common/guarded.h"
#include "common/threads.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

orError_t invalidGate(orSimGate_t gate) {
  return invalidHandle("gate", "a gate", number(gate));
}

Device& deviceAt(int index) {
  return *simulator().devices[static_cast<size_t>(index)];
}

orError_t gateCreate(orSimGate_t* gate, const char* name, int64_t deadlineNs) {
  Gate* it = simulator().gates.acquire();
  if (it == nullptr) {
    return orDriverError(orErrorMemoryAllocation, "there are too many gates; expected some to be destroyed first");
  }
  *gate = handleOf<orSimGate_t>(it->open(name, deadlineNs));
  return orSuccess;
}

orError_t streamGate(orStream_t stream, orSimGate_t gate) {
  Stream* on = simulator().streams.find(number(stream));
  if (on == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Gate* it = simulator().gates.find(number(gate));
  if (it == nullptr) {
    return invalidGate(gate);
  }
  if (const orError_t error = on->device().use()) {
    return error;
  }
  return on->submit<GateCommand>(number(stream), *it, number(gate));
}

orError_t gateOpen(orSimGate_t gate) {
  Gate* it = simulator().gates.find(number(gate));
  if (it == nullptr) {
    return invalidGate(gate);
  }
  it->letThrough();
  return orSuccess;
}

orError_t gateWaiting(orSimGate_t gate, int* waiting) {
  const Gate* it = simulator().gates.find(number(gate));
  if (it == nullptr) {
    return invalidGate(gate);
  }
  *waiting = it->waiting();
  return orSuccess;
}

orError_t gateDestroy(orSimGate_t gate) {
  Gate* it = simulator().gates.find(number(gate));
  return it != nullptr && it->close(number(gate)) ? orSuccess : invalidGate(gate);
}

orError_t setDelay(int device, int64_t kernelNs, int64_t copyNs) {
  deviceAt(device).kernelDelayNs.store(kernelNs);
  deviceAt(device).copyDelayNs.store(copyNs);
  return orSuccess;
}

orError_t loseDevice(int device) {
  deviceAt(device).lose();
  return orSuccess;
}

orError_t countThreads(int* count) {
  *count = threadCount();
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

} // namespace openreg::sim
