// Captures: which streams record their work in place of executing it, and what that forbids meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/handle.h"
#include "graph.h"

namespace openreg {

/// Base of a driver's streams.
struct Capturable : Handled {
  /// Number of the capture it is in; 0 if none, which is what every submission looks at. Changed by Captures alone.
  std::atomic<uint64_t> capture{0};

  bool captures() const { return capture.load(std::memory_order_acquire) != 0; }
};

/// Where an event was recorded in a capture: behind these nodes.
struct CapturedPoint {
  uint64_t capture;
  std::vector<size_t> after;
};

/// Why the calls that wait for work, or ask whether it is done, are refused.
constexpr const char* kNotExecuted =
    "its work is recorded and not executed, so that it can't be waited for, asked for, or timed";

/// Why interprocess events are.
constexpr const char* kOfOneProcess = "another process can't be told of work, or waited for, at each launch";

/// All captures of a driver. One lock is enough: a capture is made once and launched often. `expected` is the handle
/// that the caller was given: no stream with a new owner gets into a capture, or gets the work of who had it before.
class Captures {
 public:
  /// The stream, of the device of that index, begins one.
  void begin(Capturable& stream, uint64_t expected, int device, orStreamCaptureMode mode);

  /// Ends the capture that the stream has begun, and gives its work. Refuses the call, but ends it all the same, if the
  /// capture has been made invalid or has streams that were not joined.
  GraphNodes end(Capturable& stream, uint64_t expected);

  orStreamCaptureStatus status(const Capturable& stream, uint64_t* id) const;

  /// Takes the work of a stream that captures; false if it has ceased to meanwhile.
  bool add(Capturable& stream, uint64_t expected, GraphWork&& work);

  /// What an event that is recorded there now stands for; null if the stream has ceased to capture meanwhile.
  std::shared_ptr<const CapturedPoint> point(const Capturable& stream) const;

  /// A stream, of the device of that index, is to wait for an event, if one of the two has to do with a capture.
  /// @param point Of an event that was recorded in one; else null.
  /// @param pending Whether the event was recorded outside of captures.
  /// @return False if there is nothing captured about it, after all.
  bool wait(
      Capturable& stream,
      uint64_t expected,
      int device,
      const std::shared_ptr<const CapturedPoint>& point,
      bool pending);

  /// Refuses a call that a stream can't serve while it captures, and makes its capture invalid. Returns if it captures
  /// no longer.
  /// @param why A sentence, such as kNotExecuted.
  void refuse(const Capturable& stream, const char* why) {
    if (const uint64_t id = stream.capture.load(std::memory_order_acquire)) [[unlikely]] {
      refuse(id, why);
    }
  }

  /// The same for an event that was recorded in a capture. Returns if that has ended.
  void refuse(uint64_t capture, const char* why);

  /// Refuses a call that may wait for a device, if a capture that is under way forbids it; see
  /// orThreadExchangeStreamCaptureMode.
  void requireSafe() {
    if (count_.load(std::memory_order_acquire) != 0) [[unlikely]] {
      requireNone();
    }
  }

  /// The stream has lost its handle, and has no new owner yet.
  void leave(Capturable& stream);

  /// Of the calling thread.
  static orStreamCaptureMode exchangeMode(orStreamCaptureMode mode);

 private:
  struct Capture {
    int device;
    orStreamCaptureMode mode;
    std::thread::id owner;
    Capturable* origin;
    GraphNodes nodes;
    std::map<Capturable*, std::vector<size_t>> last; ///< Of each stream that is in it, what its next work comes after.
    std::string invalid;                             ///< Why it is, or "".
  };
  using All = std::map<uint64_t, Capture>;

  void requireNone();
  void erase(All::iterator it);
  All::iterator of(const Capturable& stream) { return all_.find(stream.capture.load(std::memory_order_acquire)); }
  All::const_iterator of(const Capturable& stream) const {
    return all_.find(stream.capture.load(std::memory_order_acquire));
  }

  mutable std::mutex mutex_; ///< Guards what follows, and the streams' numbers.
  All all_;
  uint64_t given_ = 0;
  std::atomic<size_t> count_{0}; ///< Of all_.
};

} // namespace openreg
