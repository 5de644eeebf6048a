// The compute pool: threads that help a stream's worker with a large kernel.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "openreg_kernel.h"

namespace openreg::sim {

/// One for the process. Its threads are started by the first loop that is large enough, and sleep when there is none.
class ComputePool {
 public:
  static ComputePool& instance();

  /// Threads that work on one loop, the caller included: one for each core.
  static int width();

  /// Runs `body` over [0, count) in pieces of at least `grain`, here and in the helpers.
  void run(int64_t count, int64_t grain, orLoopBody body, void* state);

 private:
  /// The loop in work. Written while nobody works on it.
  struct Loop {
    orLoopBody body = nullptr;
    void* state = nullptr;
    int64_t count = 0;
    int64_t piece = 0;
  };

  void startHelpers(int wanted);
  void work();
  void help();

  std::atomic<bool> taken_{false}; ///< One loop at a time; who finds the pool taken works alone.
  Loop loop_;
  std::atomic<int64_t> next_{0}; ///< Start of the next piece.

  std::mutex mutex_; ///< Guards what follows.
  std::condition_variable started_;
  std::condition_variable left_;
  uint64_t loops_ = 0; ///< Number of the loop in work, or of the last one.
  bool open_ = false;  ///< Whether helpers may still join it.
  int inside_ = 0;     ///< Helpers at work on it.
  int helpers_ = 0;    ///< Threads started.
};

} // namespace openreg::sim
