// openreg_sim.h: gates, delays, failures.
#include "control.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "api/entry.h"
#include "api/failure.h"
#include "api/fork.h"
#include "openreg_sim.h"
#include "simulator.h"
#include "threads.h"

using namespace openreg;
using openreg::api::Entry;

namespace {

/// An entry that only the simulator has.
class Control : public Entry {
 public:
  explicit Control(const char* name) : Entry(name) {
    if (ok() && !api::driver().isSimulator) {
      settle(api::reportMissing(name));
    }
  }

  /// Does the work if nothing has failed before; its error gets the entry's name in front.
  template <class Body>
  orError_t run(Body body) {
    if (!ok()) {
      return status();
    }
    const orError_t error = body(sim::simulator());
    return error == orSuccess ? orSuccess : api::reportDriver(name(), error);
  }
};

orError_t invalidGate(orSimGate_t gate) {
  return sim::invalidHandle("gate", "a gate", sim::number(gate));
}

sim::Device& deviceAt(sim::Simulator& all, int index) {
  return *all.devices[static_cast<size_t>(index)];
}

} // namespace

orError_t openreg::sim::errorOfName(const char* name) {
  for (int code = orSuccess; code <= orErrorDriver; ++code) {
    if (std::strcmp(orGetErrorName(static_cast<orError_t>(code)), name) == 0) {
      return static_cast<orError_t>(code);
    }
  }
  return orSuccess;
}

orError_t orSimGateCreate(orSimGate_t* gate, const char* name, double deadlineSeconds) {
  Control entry("orSimGateCreate");
  entry.notNull(gate != nullptr, "gate", "where to put the handle").notNull(name != nullptr, "name", "a name");
  entry.require(
      deadlineSeconds > 0 && std::isfinite(deadlineSeconds), orErrorInvalidValue,
      "argument 'deadlineSeconds' is %g; expected a number above 0", deadlineSeconds);
  return entry.run([&](sim::Simulator& all) {
    sim::Gate* it = all.gates.acquire();
    if (it == nullptr) {
      return orDriverError(orErrorMemoryAllocation, "there are too many gates; expected some to be destroyed first");
    }
    it->open(name, static_cast<int64_t>(std::min(deadlineSeconds, 1e9) * 1e9));
    *gate = sim::handleOf<orSimGate_t>(it->handle.load());
    return orSuccess;
  });
}

orError_t orSimStreamGate(orStream_t stream, orSimGate_t gate) {
  Control entry("orSimStreamGate");
  return entry.run([&](sim::Simulator& all) {
    sim::Stream* on = all.streams.find(sim::number(stream));
    if (on == nullptr) {
      return sim::invalidHandle("stream", "a stream", sim::number(stream));
    }
    sim::Gate* it = all.gates.find(sim::number(gate));
    if (it == nullptr) {
      return invalidGate(gate);
    }
    if (const orError_t error = on->device().use()) {
      return error;
    }
    return on->submit<sim::GateCommand>(sim::number(stream), *it, sim::number(gate));
  });
}

orError_t orSimGateOpen(orSimGate_t gate) {
  Control entry("orSimGateOpen");
  return entry.run([&](sim::Simulator& all) {
    sim::Gate* it = all.gates.find(sim::number(gate));
    if (it == nullptr) {
      return invalidGate(gate);
    }
    it->letThrough();
    return orSuccess;
  });
}

orError_t orSimGateWaiting(orSimGate_t gate, int* waiting) {
  Control entry("orSimGateWaiting");
  entry.notNull(waiting != nullptr, "waiting", "where to put the number");
  return entry.run([&](sim::Simulator& all) {
    const sim::Gate* it = all.gates.find(sim::number(gate));
    if (it == nullptr) {
      return invalidGate(gate);
    }
    *waiting = it->waiting();
    return orSuccess;
  });
}

orError_t orSimGateDestroy(orSimGate_t gate) {
  if (api::inForkedChild()) {
    return orSuccess;
  }
  Control entry("orSimGateDestroy");
  return entry.run([&](sim::Simulator& all) {
    sim::Gate* it = all.gates.find(sim::number(gate));
    return it != nullptr && it->close(sim::number(gate)) ? orSuccess : invalidGate(gate);
  });
}

orError_t orSimSetDelay(int device, int64_t kernelMicroseconds, int64_t copyMicroseconds) {
  Control entry("orSimSetDelay");
  entry.device(device);
  const auto nonNegative = [&](int64_t value, const char* argument) {
    entry.require(
        value >= 0 && value <= INT64_MAX / 1000, orErrorInvalidValue,
        "argument '%s' is %lld; expected microseconds, 0 or more", argument, static_cast<long long>(value));
  };
  nonNegative(kernelMicroseconds, "kernelMicroseconds");
  nonNegative(copyMicroseconds, "copyMicroseconds");
  return entry.run([&](sim::Simulator& all) {
    deviceAt(all, device).kernelDelayNs.store(kernelMicroseconds * 1000);
    deviceAt(all, device).copyDelayNs.store(copyMicroseconds * 1000);
    return orSuccess;
  });
}

orError_t orSimFailCall(const char* name, int n, orError_t error) {
  Control entry("orSimFailCall");
  entry.notNull(name != nullptr, "entry", "the name of a function of openreg.h");
  entry.require(
      name == nullptr || api::isEntry(name), orErrorInvalidValue,
      "argument 'entry' is '%s'; expected the name of a function of openreg.h that returns an error", name);
  entry.require(n >= 0, orErrorInvalidValue, "argument 'n' is %d; expected 0 or more", n);
  entry.require(
      n == 0 || (error > orSuccess && error <= orErrorDriver), orErrorInvalidValue,
      "argument 'error' is %d; expected an error of orError_t", static_cast<int>(error));
  return entry.run([&](sim::Simulator&) {
    const std::lock_guard lock(api::configurationMutex());
    api::planFailure(name, n, error);
    return orSuccess;
  });
}

orError_t orSimLoseDevice(int device) {
  Control entry("orSimLoseDevice");
  entry.device(device);
  return entry.run([&](sim::Simulator& all) {
    deviceAt(all, device).lose();
    return orSuccess;
  });
}

orError_t orSimThreadCount(int* count) {
  Control entry("orSimThreadCount");
  entry.notNull(count != nullptr, "count", "where to put the number");
  return entry.run([&](sim::Simulator&) {
    *count = sim::threadCount();
    return orSuccess;
  });
}
