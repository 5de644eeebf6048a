// Threads of the simulator.
#include "threads.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

namespace openreg {

namespace {

std::atomic<int> alive{0};

/// Blocks signals while a thread is started, which inherits that: handlers belong on the program's own threads. Those
/// that a faulting instruction raises stay open, as blocking them would end the process without a word.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

} // namespace

void startThread(const char* name, std::function<void()> body, std::function<void()> last) {
  const SignalsBlocked blocked;
  alive.fetch_add(1);
  std::thread thread;
  try {
    thread = std::thread([body = std::move(body), last = std::move(last)] {
      body();
      alive.fetch_sub(1);
      last();
    });
  } catch (...) {
    alive.fetch_sub(1);
    throw;
  }
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
}

int threadCount() {
  return alive.load();
}

} // namespace openreg
