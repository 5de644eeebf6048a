// The compute pool.
#include "pool.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "common/system/threads.h"

namespace openreg::sim {

namespace {

/// How long a helper looks for the next loop before it sleeps. It gives its core up at each look, so that spinning
/// takes nothing from threads that have work to do, and may last longer than a waiting thread's.
constexpr int64_t kLookNs = 50'000;

} // namespace

ComputePool& ComputePool::instance() {
  static auto& pool = *new ComputePool; // Never destroyed: helpers sleep in it until the process ends.
  return pool;
}

void ComputePool::run(int64_t count, int64_t grain, orLoopBody body, void* state) {
  const int threads = coreCount(); // The caller included.
  if (count <= 0) {
    return;
  }
  // Four pieces a thread even out threads that start late or are held up. If there are fewer, each thread should still
  // get as many as the others.
  int64_t pieces = std::min(count / std::max(grain, int64_t{1}), int64_t{4} * threads);
  pieces -= pieces > threads ? pieces % threads : 0;
  // exchange comes last: it takes the pool. A loop inside a loop finds it taken, too.
  if (threads == 1 || pieces < 2 || taken_.exchange(true, std::memory_order_acquire)) {
    body(state, 0, count);
    return;
  }
  const int64_t piece = (count + pieces - 1) / pieces;
  startHelpers(threads - 1);
  caller_.note();
  loop_ = {body, state, count, piece};
  next_.store(0, std::memory_order_relaxed);
  state_.store((state_.load(std::memory_order_relaxed) & ~(kOpen | kInside)) + kNumber + kOpen);
  if (sleepers_.load() != 0) { // Either we see the sleeper, or it sees the loop.
    futexWake(state_, static_cast<int>(pieces) - 1);
  }
  work();
  waitUntilAllLeft(); // Even if our own piece has thrown: the helpers use `state`, which may lie in our caller's frame.
  const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
  threw_.store(false, std::memory_order_relaxed);
  taken_.store(false, std::memory_order_release);
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

void ComputePool::startHelpers(int wanted) {
  while (helpers_ < wanted) {
    try {
      startThread("or-compute", [this] { help(); });
    } catch (const std::exception&) {
      break; // The host gives no more threads, or no memory for them; those that there are do the work.
    }
    ++helpers_;
  }
}

void ComputePool::work() {
  try {
    runPieces();
  } catch (...) {
    if (!threw_.exchange(true)) {
      thrown_ = std::current_exception();
    }
    next_.store(loop_.count, std::memory_order_relaxed);
  }
}

void ComputePool::runPieces() {
  const Loop loop = loop_;
  for (;;) {
    const int64_t begin = next_.fetch_add(loop.piece, std::memory_order_relaxed);
    if (begin >= loop.count) {
      return;
    }
    loop.body(loop.state, begin, std::min(begin + loop.piece, loop.count));
  }
}

bool ComputePool::join(uint32_t& seen) {
  uint32_t state = state_.load(std::memory_order_relaxed);
  while ((state & kOpen) != 0 && state / kNumber != seen) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      seen = state / kNumber;
      return true;
    }
  }
  return false;
}

void ComputePool::leave() {
  const uint32_t state = state_.fetch_sub(1) - 1;
  if ((state & (kOpen | kInside)) == 0 && waiting_.load()) {
    futexWakeAll(state_);
  }
}

void ComputePool::waitUntilAllLeft() {
  const auto allLeft = [this] { return (state_.load(std::memory_order_acquire) & kInside) == 0; };
  state_.fetch_and(~kOpen); // Nobody joins any more: who wakes up only now finds nothing to do.
  if (helper_.spinUntil(allLeft)) {
    return;
  }
  waiting_.store(true);
  for (uint32_t state = state_.load(); (state & kInside) != 0; state = state_.load()) {
    futexWait(state_, state);
  }
  waiting_.store(false);
}

void ComputePool::help() {
  uint32_t seen = 0;
  int64_t end = 0;
  for (;;) {
    if (join(seen)) {
      helper_.note();
      work();
      leave();
      end = nowNs() + kLookNs;
    } else if (nowNs() < end) {
      sched_yield();
    } else {
      sleepers_.fetch_add(1);
      const uint32_t state = state_.load();
      if ((state & kOpen) == 0 || state / kNumber == seen) {
        futexWait(state_, state);
      }
      sleepers_.fetch_sub(1);
      caller_.leave(); // It may wake up on the core of the thread that it is to help.
    }
  }
}

} // namespace openreg::sim
