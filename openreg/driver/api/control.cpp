// openreg_sim.h: delays, failures, pause points.
#include "control.h"

#include <cstring>
#include <mutex>

#include "common/pause.h"
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
  for (int code = orSuccess; code <= orErrorStreamCaptureWrongThread; ++code) {
    if (std::strcmp(orGetErrorName(static_cast<orError_t>(code)), name) == 0) {
      return static_cast<orError_t>(code);
    }
  }
  return orSuccess;
}

orError_t orSimSetPauseFunction(orSimPauseFn_t function) {
  Control entry("orSimSetPauseFunction");
  entry.notNull(function != nullptr, "function", "a function of the host");
  if (entry.ok()) {
    openreg::pauseFunction.store(function, std::memory_order_release);
  }
  return entry.status();
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
      n == 0 || (error > orSuccess && error <= orErrorStreamCaptureWrongThread), orErrorInvalidValue,
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
