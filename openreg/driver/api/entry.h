// One call of an entry point: checks in the order in which they are written, then the driver's table.
#pragma once

#include "driver.h"
#include "state.h"

namespace openreg::api {

/// Formats the thread's message, prefixed by the entry point's name, records `error` as the last one and returns it.
orError_t report(const char* entry, orError_t error, const char* format, ...) __attribute__((format(printf, 3, 4)));

/// Reports that the driver's table lacks an entry.
orError_t reportMissing(const char* tableEntry);

/// Reports what a driver has returned, with the text it gave to orDriverError. orErrorNotReady is passed on unrecorded.
orError_t reportDriver(const char* entry, orError_t error);

/// An entry point at work. The first check that fails decides; later ones do nothing, and `call` returns its code.
class Entry {
 public:
  /// What an entry point needs before its arguments are looked at.
  enum class Needs { Driver, Nothing };

  explicit Entry(const char* name, Needs needs = Needs::Driver) : name_(name) {
    if (attention.load(std::memory_order_acquire) != 0) [[unlikely]] {
      status_ = start(needs);
    }
  }

  /// An out-pointer, or a pointer that must not be null for another reason; `expected` says what it should have been.
  Entry& notNull(bool present, const char* argument, const char* expected) {
    return require(present, orErrorInvalidValue, "argument '%s' is null; expected %s", argument, expected);
  }

  /// A device index given by the caller.
  Entry& device(int index, const char* argument = "device");

  /// The calling thread's current device; it is out of range only if there are no devices.
  Entry& currentDevice();

  /// Any other condition, with the text of its failure.
  template <class... Args>
  Entry& require(bool holds, orError_t error, const char* format, Args... args) {
    if (status_ == orSuccess && !holds) [[unlikely]] {
      status_ = report(name_, error, format, args...);
    }
    return *this;
  }

  /// The outcome of a check or call made outside; counts if nothing has failed before.
  orError_t settle(orError_t outcome) { return status_ == orSuccess ? (status_ = outcome) : status_; }

  bool ok() const { return status_ == orSuccess; }
  orError_t status() const { return status_; }
  const char* name() const { return name_; }

  /// Calls the table's entry of the same name.
  template <class... Params, class... Args>
  orError_t call(orError_t (*OrDriver::*member)(Params...), Args... args) {
    return call(name_, member, args...);
  }

  /// Calls the table's entry of the same name, which queues work on `stream`. Where launches are to block, waits for
  /// that work and returns its error, unless the stream captures: then there is no work yet.
  template <class... Params, class... Args>
  orError_t queue(orStream_t stream, orError_t (*OrDriver::*member)(Params...), Args... args) {
    call(name_, member, args...);
    if (status_ == orSuccess && driver().launchBlocking && !captures(stream)) [[unlikely]] {
      call("orStreamSynchronize", &OrDriver::StreamSynchronize, stream);
    }
    return status_;
  }

  /// Calls a table entry of another name: some functions are made of several.
  template <class... Params, class... Args>
  orError_t call(const char* tableEntry, orError_t (*OrDriver::*member)(Params...), Args... args) {
    if (status_ != orSuccess) [[unlikely]] {
      return status_;
    }
    const auto function = driver().table.*member;
    if (function == nullptr) [[unlikely]] {
      return status_ = reportMissing(tableEntry);
    }
    return own(function, args...);
  }

  /// Calls a function that reports as the table's do.
  template <class... Params, class... Args>
  orError_t own(orError_t (*function)(Params...), Args... args) {
    if (status_ != orSuccess) [[unlikely]] {
      return status_;
    }
    status_ = function(args...);
    return status_ == orSuccess ? orSuccess : (status_ = reportDriver(name_, status_));
  }

  /// Whether the table has the entry of the same name; for one that the library does not only pass on.
  template <class Function>
  Entry& implemented(Function OrDriver::* member) {
    if (status_ == orSuccess && driver().table.*member == nullptr) {
      status_ = reportMissing(name_);
    }
    return *this;
  }

 private:
  orError_t start(Needs needs);

  /// Whether a stream captures; a driver without that entry has none that does.
  static bool captures(orStream_t stream) {
    const auto info = driver().table.StreamGetCaptureInfo;
    orStreamCaptureStatus status = orStreamCaptureStatusNone;
    return info != nullptr && info(stream, &status, nullptr) == orSuccess && status != orStreamCaptureStatusNone;
  }

  const char* name_;
  orError_t status_ = orSuccess;
};

/// A call that frees or destroys. In a forked child it does nothing: there is no device, and destructors need no error.
template <class Handle>
orError_t release(const char* name, orError_t (*OrDriver::*member)(Handle), Handle handle) {
  if (inForkedChild()) {
    return orSuccess;
  }
  Entry entry(name);
  return entry.call(member, handle);
}

} // namespace openreg::api
