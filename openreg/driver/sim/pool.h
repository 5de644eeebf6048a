// The compute pool: threads that help a stream's worker with a large kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "common/system/placement.h"
#include "openreg_kernel.h"

namespace openreg::sim {

/// One for the process. Its threads are started by the first loop that is large enough. A helper that has done its part
/// spins for a little while, since the next kernel often follows at once and waking a thread takes longer than a small
/// loop; then it sleeps.
class ComputePool {
 public:
  static ComputePool& instance();

  /// Runs `body` over [0, count) in pieces of at least `grain`, here and in the helpers. What a piece throws, in
  /// whichever thread, is thrown here once nobody is at work any more; pieces that have not begun are left out.
  void run(int64_t count, int64_t grain, orLoopBody body, void* state);

 private:
  /// The loop in work. Written while nobody works on it.
  struct Loop {
    orLoopBody body = nullptr;
    void* state = nullptr;
    int64_t count = 0;
    int64_t piece = 0;
  };

  // What `state_` says: the number of the loop, whether helpers may still join it, and how many are at work on it. In
  // one word, so that nobody can join a loop that is being closed.
  static constexpr uint32_t kNumber = 1u << 16;
  static constexpr uint32_t kOpen = 1u << 15;
  static constexpr uint32_t kInside = kOpen - 1;

  void startHelpers(int wanted);
  void work();
  void runPieces();
  void help();
  bool join(uint32_t& seen);
  void leave();
  void waitUntilAllLeft();

  std::atomic<bool> taken_{false}; ///< One loop at a time; who finds the pool taken works alone.
  Loop loop_;
  int helpers_ = 0; ///< Threads started. Belongs to who has the pool.
  Whereabouts caller_;
  Whereabouts helper_;                       ///< That joined last.
  alignas(64) std::atomic<int64_t> next_{0}; ///< Start of the next piece.
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<bool> threw_{false};   ///< A piece has thrown.
  std::exception_ptr thrown_;        ///< What the first has thrown: written by its thread before that leaves.
  std::atomic<int> sleepers_{0};     ///< Helpers that wait for `state_` to change.
  std::atomic<bool> waiting_{false}; ///< Whether the caller does.
};

} // namespace openreg::sim
