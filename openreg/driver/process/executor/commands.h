// Commands of an executor's streams, beside the simulator's own.
#pragma once

#include "service.h"
#include "sim/device.h"
#include "sim/stream/command.h"

namespace openreg::process {

/// How often one who waits on the board looks whether its own device has failed: nobody rings there for that.
constexpr int64_t kLookNs = 5'000'000;

/// The stream has come to a fence; on a failed device too, so that nobody waits for ever.
class FenceCommand final : public sim::Command {
 public:
  FenceCommand(Service& service, const FenceFrame& frame) : service_(service), frame_(frame) {}
  void run(sim::Stream&) override { service_.pass(frame_); }
  bool runsAfterFailure() const override { return true; }

 private:
  Service& service_;
  FenceFrame frame_;
};

/// The stream stands until a fence on the board has come so far: another stream's, of whichever device, or the host's.
class WaitCommand final : public sim::Command {
 public:
  WaitCommand(Service& service, const WaitFrame& frame) : service_(service), frame_(frame) {}
  void run(sim::Stream& stream) override;
  bool describeWork(orActivityRecord&) const override { return true; }

 private:
  Service& service_;
  WaitFrame frame_;
};

} // namespace openreg::process
