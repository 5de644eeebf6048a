// The failure of a device.
#include "failure.h"

#include "openreg_driver.h"

namespace openreg {

void Failure::raise(orError_t error, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (stage_.load() == Stage::None) {
    error_ = error;
    message_ = message;
    stage_.store(Stage::Pending, std::memory_order_release);
  }
}

void Failure::impose(orError_t error, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (stage_.load() != Stage::Dropping) {
    error_ = error;
    message_ = message;
    stage_.store(Stage::Surfaced, std::memory_order_release);
    lost_.store(true); // Last: who is released by it finds the error.
  }
}

orError_t Failure::describe() const {
  const std::lock_guard lock(mutex_);
  // A reset may have come between.
  return error_ == orSuccess ? orSuccess : orDriverError(error_, "%s", message_.c_str());
}

orError_t Failure::surfaceSlowly() {
  {
    const std::lock_guard lock(mutex_);
    if (stage_.load() == Stage::Pending) {
      stage_.store(Stage::Surfaced, std::memory_order_release);
    }
  }
  return describe();
}

void Failure::dropWork() {
  const std::lock_guard lock(mutex_);
  error_ = orSuccess;
  message_.clear();
  stage_.store(Stage::Dropping, std::memory_order_release);
}

void Failure::clear() {
  const std::lock_guard lock(mutex_);
  lost_.store(false);
  stage_.store(Stage::None, std::memory_order_release);
}

} // namespace openreg
