// Errors: their names, their sentences, and the calling thread's last one.
#include <cstdarg>
#include <cstdio>

#include "openreg_driver.h"
#include "state.h"

using openreg::api::kMessageBytes;
using openreg::api::thread;

const char* orGetErrorName(orError_t error) {
  switch (error) {
    case orSuccess:
      return "orSuccess";
    case orErrorInvalidValue:
      return "orErrorInvalidValue";
    case orErrorMemoryAllocation:
      return "orErrorMemoryAllocation";
    case orErrorInvalidDevice:
      return "orErrorInvalidDevice";
    case orErrorInvalidHandle:
      return "orErrorInvalidHandle";
    case orErrorNotReady:
      return "orErrorNotReady";
    case orErrorIllegalAddress:
      return "orErrorIllegalAddress";
    case orErrorLaunchFailure:
      return "orErrorLaunchFailure";
    case orErrorAssert:
      return "orErrorAssert";
    case orErrorNotImplemented:
      return "orErrorNotImplemented";
    case orErrorDeviceLost:
      return "orErrorDeviceLost";
    case orErrorTimedOut:
      return "orErrorTimedOut";
    case orErrorNotFound:
      return "orErrorNotFound";
    case orErrorForked:
      return "orErrorForked";
    case orErrorPeerAccessUnsupported:
      return "orErrorPeerAccessUnsupported";
    case orErrorPeerAccessNotEnabled:
      return "orErrorPeerAccessNotEnabled";
    case orErrorPeerAccessAlreadyEnabled:
      return "orErrorPeerAccessAlreadyEnabled";
    case orErrorDriver:
      return "orErrorDriver";
  }
  return "orErrorUnknown"; // No `default` above: the compiler then says which new enumerator was forgotten.
}

const char* orGetErrorString(orError_t error) {
  switch (error) {
    case orSuccess:
      return "no error";
    case orErrorInvalidValue:
      return "an argument is invalid";
    case orErrorMemoryAllocation:
      return "out of memory";
    case orErrorInvalidDevice:
      return "there is no device of that index";
    case orErrorInvalidHandle:
      return "a handle is not valid";
    case orErrorNotReady:
      return "the work is still running";
    case orErrorIllegalAddress:
      return "device code was handed memory outside a live allocation";
    case orErrorLaunchFailure:
      return "device code failed";
    case orErrorAssert:
      return "device code reported an error";
    case orErrorNotImplemented:
      return "the driver lacks this function";
    case orErrorDeviceLost:
      return "the device no longer answers";
    case orErrorTimedOut:
      return "a deadline passed";
    case orErrorNotFound:
      return "no module, kernel or symbol has that name";
    case orErrorForked:
      return "this process was forked from one that had used the device";
    case orErrorPeerAccessUnsupported:
      return "these two devices cannot read each other's memory";
    case orErrorPeerAccessNotEnabled:
      return "peer access is not enabled";
    case orErrorPeerAccessAlreadyEnabled:
      return "peer access is enabled already";
    case orErrorDriver:
      return "the driver cannot be loaded";
  }
  return "unknown error";
}

orError_t orGetLastError(void) {
  const orError_t error = thread.lastError;
  thread.lastError = orSuccess;
  return error;
}

orError_t orPeekAtLastError(void) {
  return thread.lastError;
}

const char* orGetLastErrorMessage(void) {
  return thread.message;
}

orError_t orDriverError(orError_t error, const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(thread.description, kMessageBytes, format, args);
  va_end(args);
  return thread.describedError = error;
}
