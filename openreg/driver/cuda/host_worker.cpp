// Functions of the host in streams.
#include "host_worker.h"

#include <atomic>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/system/threads.h"
#include "device.h"

namespace openreg::cuda {

std::shared_ptr<HostWorker> HostWorker::start(Device& device) {
  std::shared_ptr<HostWorker> made(new HostWorker(device));
  std::tie(made->done_, made->doneThere_) = device.takeWord();
  made->queued_ = made->taken_ = std::atomic_ref(*made->done_).load();
  startThread("cuda host", [made] { made->run(); });
  return made;
}

void HostWorker::queue(CUstream stream, orHostFn_t function, void* userData, bool always) {
  const std::lock_guard lock(queueing_);
  const uint32_t number = queued_ + 1;
  auto task = std::make_unique<Task>(Task{shared_from_this(), function, userData, always, number});
  OPENREG_CUDA(
      cuLaunchHostFunc, stream,
      [](void* state) {
        auto* it = static_cast<Task*>(state);
        const std::lock_guard lock(it->worker->mutex_);
        it->worker->tasks_.push_back(it);
        it->worker->changed_.notify_one();
      },
      task.get());
  std::ignore = task.release();
  queued_ = number;
  OPENREG_CUDA(cuStreamWaitValue32, stream, doneThere_, number, CU_STREAM_WAIT_VALUE_GEQ);
}

void HostWorker::finish() {
  const std::lock_guard lock(queueing_);
  const std::lock_guard ending(mutex_);
  finishing_ = true;
  taken_ = queued_;
  changed_.notify_one();
}

void HostWorker::run() {
  for (;;) {
    std::unique_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(
          lock, [this] { return !tasks_.empty() || (finishing_ && std::atomic_ref(*done_).load() == taken_); });
      if (tasks_.empty()) {
        break;
      }
      task.reset(tasks_.front());
      tasks_.pop_front();
    }
    if (task->always || !device_.hasFailed()) {
      task->function(task->userData);
    }
    std::atomic_ref(*done_).store(task->number, std::memory_order_release);
  }
  device_.giveWord(done_, doneThere_);
}

} // namespace openreg::cuda
