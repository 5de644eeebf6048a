// Gates.
#include "gate.h"

#include <cstdio>

#include "device.h"
#include "simulator.h"
#include "stream.h"

namespace openreg::sim {

uint64_t Gate::open(const char* name, int64_t deadlineNs) {
  {
    const std::lock_guard lock(mutex_);
    name_ = name;
    deadlineNs_ = deadlineNs;
    passable_.store(false);
  }
  return simulator().gates.publish(*this);
}

bool Gate::close(uint64_t expected) {
  if (expected == 0 || !handle.compare_exchange_strong(expected, 0)) {
    return false;
  }
  letThrough();
  simulator().gates.release(*this);
  return true;
}

void Gate::letThrough() {
  passable_.store(true);
  simulator().bell.ring();
}

void Gate::stand(uint64_t expected, Device& device) {
  std::string name;
  int64_t deadlineNs = 0;
  {
    const std::lock_guard lock(mutex_);
    name = name_;
    deadlineNs = deadlineNs_;
  }
  waiting_.fetch_add(1);
  const bool passed = simulator().bell.waitUntil(
      nowNs() + deadlineNs, [&] { return passable_.load() || handle.load() != expected || device.failure.exists(); });
  waiting_.fetch_sub(1);
  if (!passed) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%g", static_cast<double>(deadlineNs) / 1e9);
    device.fail(
        orErrorTimedOut, "gate '" + name + "' was not opened within its deadline of " + seconds +
                             " s; a stream of device " + std::to_string(device.index) + " stood there");
  }
}

void Gate::hold(const char* name) {
  const uint64_t expected = handle.load();
  int64_t deadlineNs = 0;
  {
    const std::lock_guard lock(mutex_);
    if (expected == 0 || name_ != name) {
      return;
    }
    deadlineNs = deadlineNs_;
  }
  int nobody = 0;
  if (waiting_.compare_exchange_strong(nobody, 1)) { // a test lets one thread be overtaken by the others
    simulator().bell.waitUntil(nowNs() + deadlineNs, [&] { return passable_.load() || handle.load() != expected; });
    waiting_.fetch_sub(1);
  }
}

void GateCommand::run(Stream& stream) {
  gate_.stand(handle_, stream.device());
}

} // namespace openreg::sim
