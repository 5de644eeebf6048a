// openreg_sim.h: gates, delays, failures.
#include "control.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "entry.h"
#include "failure.h"
#include "fork.h"

using namespace openreg::api;

namespace {

/// An entry that only drivers with a simulated device have.
class Control : public Entry {
 public:
  explicit Control(const char* name) : Entry(name) {
    if (ok() && driver().controls == nullptr) {
      settle(reportMissing(name));
    }
  }

  /// Lets the driver do it if nothing has failed before; its error gets the entry's name in front.
  template <class... Params, class... Args>
  orError_t run(orError_t (*Controls::*member)(Params...), Args... args) {
    if (!ok()) {
      return status();
    }
    const orError_t error = (driver().controls->*member)(args...);
    return error == orSuccess ? orSuccess : reportDriver(name(), error);
  }
};

} // namespace

orError_t openreg::api::errorOfName(const char* name) {
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
  return entry.run(&Controls::GateCreate, gate, name, static_cast<int64_t>(std::min(deadlineSeconds, 1e9) * 1e9));
}

orError_t orSimStreamGate(orStream_t stream, orSimGate_t gate) {
  Control entry("orSimStreamGate");
  return entry.run(&Controls::StreamGate, stream, gate);
}

orError_t orSimGateOpen(orSimGate_t gate) {
  Control entry("orSimGateOpen");
  return entry.run(&Controls::GateOpen, gate);
}

orError_t orSimGateWaiting(orSimGate_t gate, int* waiting) {
  Control entry("orSimGateWaiting");
  entry.notNull(waiting != nullptr, "waiting", "where to put the number");
  return entry.run(&Controls::GateWaiting, gate, waiting);
}

orError_t orSimGateDestroy(orSimGate_t gate) {
  if (inForkedChild()) {
    return orSuccess;
  }
  Control entry("orSimGateDestroy");
  return entry.run(&Controls::GateDestroy, gate);
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
  return entry.run(&Controls::SetDelay, device, kernelMicroseconds * 1000, copyMicroseconds * 1000);
}

orError_t orSimFailCall(const char* name, int n, orError_t error) {
  Control entry("orSimFailCall");
  entry.notNull(name != nullptr, "entry", "the name of a function of openreg.h");
  entry.require(
      name == nullptr || isEntry(name), orErrorInvalidValue,
      "argument 'entry' is '%s'; expected the name of a function of openreg.h that returns an error", name);
  entry.require(n >= 0, orErrorInvalidValue, "argument 'n' is %d; expected 0 or more", n);
  entry.require(
      n == 0 || (error > orSuccess && error <= orErrorDriver), orErrorInvalidValue,
      "argument 'error' is %d; expected an error of orError_t", static_cast<int>(error));
  if (entry.ok()) {
    const std::lock_guard lock(configurationMutex()); // The entry points do it themselves, whatever the driver.
    planFailure(name, n, error);
  }
  return entry.status();
}

orError_t orSimLoseDevice(int device) {
  Control entry("orSimLoseDevice");
  entry.device(device);
  return entry.run(&Controls::LoseDevice, device);
}

orError_t orSimThreadCount(int* count) {
  Control entry("orSimThreadCount");
  entry.notNull(count != nullptr, "count", "where to put the number");
  return entry.run(&Controls::ThreadCount, count);
}
