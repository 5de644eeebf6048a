// Gates: tests close a stream with them, to see what waits for it and what does not.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "command.h"
#include "common/handle.h"

namespace openreg::sim {

class Device;

class Gate : public Handled {
 public:
  uint64_t open(const char* name, int64_t deadlineNs); ///< Returns the handle.

  /// Opens the gate and makes the handle invalid; false if `expected` is not the handle any more.
  bool close(uint64_t expected);

  void letThrough();
  int waiting() const { return waiting_.load(); }

  /// Stands at the gate until it is opened, destroyed, late, or the device has failed. On a stream's worker.
  void stand(uint64_t expected, Device& device);

  /// Stands there, in whichever thread, if that is the gate's name and nobody stands there yet. For pause points.
  void hold(const char* name);

 private:
  std::mutex mutex_; ///< Guards name and deadline.
  std::string name_;
  int64_t deadlineNs_ = 0;
  std::atomic<bool> passable_{false};
  std::atomic<int> waiting_{0};
};

/// A gate in a stream's queue.
class GateCommand final : public Command {
 public:
  GateCommand(Gate& gate, uint64_t handle) : gate_(gate), handle_(handle) {}
  void run(Stream& stream) override;

 private:
  Gate& gate_;
  uint64_t handle_; ///< The gate it was then: once that is destroyed the stream passes.
};

} // namespace openreg::sim
