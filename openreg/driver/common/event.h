// What an event is in every driver: an object with an owner, a device, and perhaps a clock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "common/graph/capture.h"
#include "handle.h"
#include "lookup.h"
#include "shared_event.h"

namespace openreg {

/// @tparam Self The driver's event, which has `forget()`: what its earlier owner has recorded is gone.
/// @tparam Driver See objects.h.
template <class Self, class Driver, class Device>
class EventBase : public Handled {
 public:
  /// What orEventElapsedTime needs.
  struct Stamp {
    bool recorded = false;
    bool complete = false;
    int64_t ns = 0;
  };

  /// Returns the handle. `shared`: what an interprocess event is, else null.
  uint64_t open(Device& device, bool timed, std::shared_ptr<SharedEvent> shared) {
    const std::lock_guard lock(mutex_);
    shared_ = std::move(shared);
    device_.store(&device, std::memory_order_release);
    timed_.store(timed, std::memory_order_relaxed);
    forgetCapture();
    return Driver::instance().events.publish(static_cast<Self&>(*this));
  }

  /// Makes the handle invalid; false if `expected` is not the handle any more.
  bool close(uint64_t expected) {
    {
      const std::lock_guard lock(mutex_);
      if (expected == 0 || handle.load() != expected) {
        return false;
      }
      handle.store(0);
      shared_ = nullptr;
      forgetCapture();
    }
    Driver::instance().events.release(static_cast<Self&>(*this));
    return true;
  }

  Device& device() const { return *device_.load(std::memory_order_acquire); }
  std::shared_ptr<SharedEvent> shared() const {
    const std::lock_guard lock(mutex_);
    return shared_;
  }
  bool timed() const { return timed_.load(std::memory_order_relaxed); }

  /// Where it was recorded last, if that was in a capture, which may have ended. Then it has no version.
  std::shared_ptr<const CapturedPoint> captured() const {
    if (!inCapture_.load(std::memory_order_acquire)) [[likely]] {
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    return captured_;
  }

  /// Makes that a point of a capture, or none; its version is forgotten.
  void setCaptured(uint64_t expected, std::shared_ptr<const CapturedPoint> point) {
    const std::lock_guard lock(mutex_);
    requireStill(*this, expected);
    forgetCapture(std::move(point));
  }

 protected:
  mutable std::mutex mutex_; ///< Guards the handle's end, and what the driver records.

 private:
  friend Self; // Alone may be one.
  EventBase() = default;

  void forgetCapture(std::shared_ptr<const CapturedPoint> point = nullptr) {
    static_cast<Self*>(this)->forget();
    captured_ = std::move(point);
    inCapture_.store(captured_ != nullptr, std::memory_order_release);
  }

  std::atomic<Device*> device_{nullptr};
  std::atomic<bool> timed_{true};
  std::shared_ptr<SharedEvent> shared_;           ///< Under mutex_.
  std::shared_ptr<const CapturedPoint> captured_; ///< Under mutex_.
  std::atomic<bool> inCapture_{false};            ///< Whether there is one.
};

} // namespace openreg
