// Errors: their names, their sentences, and the calling thread's last one.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "openreg_driver.h"
#include "state.h"

using openreg::api::kMessageBytes;
using openreg::api::thread;

namespace {

struct Words {
  const char* name;
  const char* sentence;
};

/// A C library writes a null pointer as it likes: glibc has "(nil)" for what is called null everywhere else.
void nameNull(char* text) {
  constexpr char kNil[] = "(nil)", kNull[] = "null";
  for (char* at = std::strstr(text, kNil); at != nullptr; at = std::strstr(at, kNil)) {
    std::memmove(at + std::strlen(kNull), at + std::strlen(kNil), std::strlen(at + std::strlen(kNil)) + 1);
    at = static_cast<char*>(std::memcpy(at, kNull, std::strlen(kNull)));
  }
}

Words wordsOf(orError_t error) {
  switch (error) {
    case orSuccess:
      return {"orSuccess", "no error"};
    case orErrorInvalidValue:
      return {"orErrorInvalidValue", "an argument is invalid"};
    case orErrorMemoryAllocation:
      return {"orErrorMemoryAllocation", "out of memory"};
    case orErrorInvalidDevice:
      return {"orErrorInvalidDevice", "there is no device of that index"};
    case orErrorInvalidHandle:
      return {"orErrorInvalidHandle", "a handle is not valid"};
    case orErrorNotReady:
      return {"orErrorNotReady", "the work is still running"};
    case orErrorIllegalAddress:
      return {"orErrorIllegalAddress", "device code was handed memory outside a live allocation"};
    case orErrorLaunchFailure:
      return {"orErrorLaunchFailure", "device code failed"};
    case orErrorAssert:
      return {"orErrorAssert", "device code reported an error"};
    case orErrorNotImplemented:
      return {"orErrorNotImplemented", "the driver lacks this function"};
    case orErrorDeviceLost:
      return {"orErrorDeviceLost", "the device no longer answers"};
    case orErrorTimedOut:
      return {"orErrorTimedOut", "a deadline passed"};
    case orErrorNotFound:
      return {"orErrorNotFound", "no module, kernel or symbol has that name"};
    case orErrorForked:
      return {"orErrorForked", "this process was forked from one that had used the device"};
    case orErrorPeerAccessUnsupported:
      return {"orErrorPeerAccessUnsupported", "these two devices cannot read each other's memory"};
    case orErrorPeerAccessNotEnabled:
      return {"orErrorPeerAccessNotEnabled", "peer access is not enabled"};
    case orErrorPeerAccessAlreadyEnabled:
      return {"orErrorPeerAccessAlreadyEnabled", "peer access is enabled already"};
    case orErrorDriver:
      return {"orErrorDriver", "the driver cannot be loaded"};
    case orErrorVendor:
      return {"orErrorVendor", "the vendor's library failed"};
    case orErrorStreamCaptureUnsupported:
      return {"orErrorStreamCaptureUnsupported", "the call is not permitted while a stream captures"};
    case orErrorStreamCaptureInvalidated:
      return {"orErrorStreamCaptureInvalidated", "the capture was made invalid by an earlier call"};
    case orErrorStreamCaptureUnmatched:
      return {"orErrorStreamCaptureUnmatched", "the capture was begun on another stream"};
    case orErrorStreamCaptureUnjoined:
      return {"orErrorStreamCaptureUnjoined", "the capture has work that its first stream has not waited for"};
    case orErrorStreamCaptureIsolation:
      return {"orErrorStreamCaptureIsolation", "captured work would wait for work that is not captured"};
    case orErrorStreamCaptureWrongThread:
      return {"orErrorStreamCaptureWrongThread", "the capture was begun by another thread"};
  }
  return {"orErrorUnknown", "unknown error"}; // No `default` above: the compiler says which enumerator was forgotten.
}

} // namespace

const char* orGetErrorName(orError_t error) {
  return wordsOf(error).name;
}

const char* orGetErrorString(orError_t error) {
  return wordsOf(error).sentence;
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
  nameNull(thread.description);
  return thread.describedError = error;
}
