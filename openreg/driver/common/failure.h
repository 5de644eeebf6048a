// The failure of a device: unknown until a synchronising call brings it to light, from then on in everybody's way.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "openreg.h"

namespace openreg {

/// State of one device. Reading it when there is none costs one load.
class Failure {
 public:
  /// True from the first failure until clear(): nothing that is queued is executed.
  bool exists() const { return stage_.load(std::memory_order_acquire) != Stage::None; }

  /// Whether the device is lost: then nobody waits for its work any more, not even for what is running.
  const std::atomic<bool>& lost() const { return lost_; }

  /// Work of the device has failed. The first report counts. It is not returned by any call until surface().
  void raise(orError_t error, const std::string& message);

  /// Replaces whatever there is, visible to every call at once: the device is lost.
  void impose(orError_t error, const std::string& message);

  /// For calls that need the device: its failure if that has surfaced, described to orDriverError.
  orError_t check() const { return stage_.load(std::memory_order_acquire) == Stage::Surfaced ? describe() : orSuccess; }

  /// For synchronising calls: its failure if there is one; from now on check() returns it too.
  orError_t surface() { return exists() ? surfaceSlowly() : orSuccess; }

  /// The failure, surfaced or not; changes nothing.
  orError_t peek() const { return exists() ? describe() : orSuccess; }

  /// The device is reset. While that goes on, dropWork() makes queued work be dropped without being an error.
  void dropWork();
  void clear();

 private:
  enum class Stage { None, Pending, Surfaced, Dropping };

  orError_t describe() const;
  orError_t surfaceSlowly();

  std::atomic<Stage> stage_{Stage::None};
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_; ///< Guards what follows and changes of `stage_`.
  orError_t error_ = orSuccess;
  std::string message_;
};

} // namespace openreg
