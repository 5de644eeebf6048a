// What is said, and to whom, when an exchange has failed.
#include "distributed/process_group.h"

#include <algorithm>

namespace openreg {

std::string ProcessGroup::nameOfGroup() const {
  return c10::str("'", getGroupDesc() == "undefined" ? options_->group_name : getGroupDesc(), "'");
}

// LITERALINCLUDE START: GROUP ERRORS
std::exception_ptr ProcessGroup::describe(const Operation& operation, const std::exception_ptr& cause) const {
  std::string why;
  try {
    std::rethrow_exception(cause);
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  } catch (const std::exception& error) {
    why = error.what();
  }
  return std::make_exception_ptr(
      c10::DistBackendError(
          {__func__, __FILE__, __LINE__},
          c10::str(
              "occl: ", nameOf(operation.type), ", operation ", operation.number, " of group ", nameOfGroup(),
              ", failed on rank ", getRank(), " of ", getSize(),
              "; its results are not valid and the group can't be used any more: ", why)));
}

void ProcessGroup::refuseAfterError() const {
  if (error_) {
    std::rethrow_exception(error_);
  }
}

// The first error is the group's. Others hear that this rank comes no more.
void ProcessGroup::failLocked(const std::exception_ptr& error) {
  if (!error_) {
    error_ = error;
    if (direct_ != nullptr) {
      direct_->meeting().leave();
    }
  }
}

std::exception_ptr ProcessGroup::errorOf(const Operation& operation) const {
  const std::lock_guard lock(mutex_);
  return operation.error;
}

c10d::ErrorType ProcessGroup::getError() {
  const std::lock_guard lock(mutex_);
  return error_ ? c10d::ErrorType::COMM_ERROR : c10d::ErrorType::SUCCESS;
}
// LITERALINCLUDE END: GROUP ERRORS

// Looks at the device, too: one that has failed calls no function any more.
void ProcessGroup::awaitReturn(const Operation& operation, const c10::Event& done, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (!operation.queued || operation.returned < operation.functions.size()) {
    const auto now = std::chrono::steady_clock::now();
    TORCH_CHECK_WITH(
        DistBackendError, now < deadline, "occl: ", nameOf(operation.type), ", operation ", operation.number,
        " on rank ", getRank(), " of ", getSize(), ", is not done after ", timeout.count(), " ms");
    returned_.wait_for(lock, std::min<std::chrono::nanoseconds>(deadline - now, std::chrono::milliseconds(50)));
    lock.unlock();
    (void)done.query(); // throws if the device has failed
    lock.lock();
  }
}

} // namespace openreg
