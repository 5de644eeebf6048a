// The slow half of an entry point: first call, forked child, planned failure; and the texts of errors.
#include "entry.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "failure.h"

namespace openreg::api {

namespace {

orError_t record(orError_t error) {
  thread.lastError = error;
  thread.describedError = orSuccess;
  return error;
}

} // namespace

orError_t report(const char* entry, orError_t error, const char* format, ...) {
  const int used = std::snprintf(thread.message, kMessageBytes, "%s: ", entry);
  va_list args;
  va_start(args, format);
  std::vsnprintf(thread.message + used, static_cast<size_t>(kMessageBytes - used), format, args);
  va_end(args);
  return record(error);
}

orError_t reportMissing(const char* tableEntry) {
  std::snprintf(thread.message, kMessageBytes, "not implemented: %s", tableEntry);
  return record(orErrorNotImplemented);
}

orError_t reportDriver(const char* entry, orError_t error) {
  if (error == orErrorNotReady) {
    return error; // An answer, not a failure.
  }
  const bool described = thread.describedError == error;
  return report(entry, error, "%s", described ? thread.description : orGetErrorString(error));
}

orError_t Entry::start(Needs needs) {
  const unsigned reasons = attention.load(std::memory_order_acquire);
  if ((reasons & kForked) != 0) {
    return report(
        name_, orErrorForked,
        "this process was forked from one that had used the device; start it with 'spawn', or fork before the first "
        "use");
  }
  if ((reasons & kNotLoaded) != 0 && needs == Needs::Driver) {
    if (const orError_t error = loadDriver(name_); error != orSuccess) {
      return error;
    }
  }
  // Looked at anew: loading the driver may have read a planned failure from the environment.
  if ((attention.load(std::memory_order_relaxed) & kFailurePlanned) != 0) {
    if (const orError_t error = dueFailure(name_); error != orSuccess) {
      return report(name_, error, "this call was to fail (orSimFailCall, or 'fail' in OPENREG_SIM)");
    }
  }
  return orSuccess;
}

Entry& Entry::device(int index, const char* argument) {
  if (status_ != orSuccess) {
    return *this;
  }
  if (driver().table.GetDeviceCount == nullptr) {
    status_ = reportMissing("orGetDeviceCount");
    return *this;
  }
  return require(
      index >= 0 && index < driver().count, orErrorInvalidDevice,
      "argument '%s' is %d; expected a device index in [0, %d)%s", argument, index, driver().count,
      driver().whyNone.c_str());
}

Entry& Entry::currentDevice() {
  if (status_ == orSuccess && driver().table.GetDeviceCount == nullptr) [[unlikely]] {
    status_ = reportMissing("orGetDeviceCount");
  }
  if (status_ == orSuccess && thread.device >= driver().count) [[unlikely]] {
    status_ = report(
        name_, orErrorInvalidDevice, "the current device is %d, but there are %d devices%s", thread.device,
        driver().count, driver().whyNone.c_str());
  }
  return *this;
}

} // namespace openreg::api
