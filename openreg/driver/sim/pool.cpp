// The compute pool.
#include "pool.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "threads.h"

namespace openreg::sim {

namespace {

/// Threads of this class do not push the host's thread off its core when they wake.
void becomeBatch() {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

} // namespace

ComputePool& ComputePool::instance() {
  static auto& pool = *new ComputePool; // Never destroyed: helpers sleep in it until the process ends.
  return pool;
}

int ComputePool::width() {
  // Kept: the library reads files to find it out, which takes longer than a small kernel.
  static const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

void ComputePool::run(int64_t count, int64_t grain, orLoopBody body, void* state) {
  const int threads = width();
  if (count <= 0) {
    return;
  }
  // exchange comes last: it takes the pool. A loop inside a loop finds it taken, too.
  if (threads == 1 || count <= grain || taken_.exchange(true, std::memory_order_acquire)) {
    body(state, 0, count);
    return;
  }
  // Four pieces a thread even out threads that start late or are held up.
  const int64_t piece = std::max({grain, int64_t{1}, count / (int64_t{4} * threads)});
  {
    const std::lock_guard lock(mutex_);
    loop_ = {body, state, count, piece};
    next_.store(0, std::memory_order_relaxed);
    ++loops_;
    open_ = true;
    startHelpers(threads - 1);
  }
  started_.notify_all();
  work();
  {
    std::unique_lock lock(mutex_);
    open_ = false; // Nobody joins any more: who wakes up only now finds nothing to do.
    left_.wait(lock, [this] { return inside_ == 0; });
  }
  taken_.store(false, std::memory_order_release);
}

void ComputePool::startHelpers(int wanted) {
  try {
    for (; helpers_ < wanted; ++helpers_) {
      startThread("or-compute", [this] { help(); });
    }
  } catch (const std::system_error&) {
    // The host gives no more threads; those that there are do the work.
  }
}

void ComputePool::work() {
  const Loop loop = loop_;
  for (;;) {
    const int64_t begin = next_.fetch_add(loop.piece, std::memory_order_relaxed);
    if (begin >= loop.count) {
      return;
    }
    loop.body(loop.state, begin, std::min(begin + loop.piece, loop.count));
  }
}

void ComputePool::help() {
  becomeBatch();
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return open_ && loops_ != seen; });
    seen = loops_;
    ++inside_;
    lock.unlock();
    work();
    lock.lock();
    if (--inside_ == 0) {
      left_.notify_one();
    }
  }
}

} // namespace openreg::sim
