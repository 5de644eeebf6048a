// Where threads run, and how long they spin: all that drivers do so that threads which wait for each other do not stand
// in each other's way. Nothing depends on it but speed. Measured one by one on two busy cores: without spinning, `x +
// y` of one element and reading the result takes several times as long, and so it does where a woken worker stays on
// the core of who woke it (Whereabouts::leave); of large kernels the usual time gets longer, not the best. Looking at
// the other's core before spinning shows in the usual time only, too, when others use the machine.
#pragma once

#include <atomic>

#include "platform.h"

namespace openreg {

/// How long a thread spins before it sleeps. Longer gains little: what costs is waking, and naps (sim::Queue) avoid
/// that.
constexpr int64_t kSpinNs = 5'000;

/// Spins for a while until `done()`. Gives up at once where the thread waited for was last seen on this core: it cannot
/// run while we spin. (Without this rule each wait on a busy machine costs a whole time slice.)
template <class Done>
bool spinUntil(const std::atomic<int>& otherCpu, Done done) {
  const int64_t end = nowNs() + kSpinNs;
  while (otherCpu.load(std::memory_order_relaxed) != currentCpu() && nowNs() < end) {
    for (int i = 0; i < 16; ++i) {
      if (done()) {
        return true;
      }
      relax();
    }
  }
  return done();
}

/// The core on which a thread was seen last, for those who wait for it.
class Whereabouts {
 public:
  /// This thread is here.
  void note() { cpu_.store(currentCpu(), std::memory_order_relaxed); }

  /// Spins for a while until that thread has done something.
  template <class Done>
  bool spinUntil(Done done) const {
    return openreg::spinUntil(cpu_, done);
  }

  /// Moves the calling thread to another core, if there is one, where it stands on that thread's. A woken thread often
  /// finds itself on the core of the one who woke it, and then the two take turns in place of working side by side.
  void leave() const;

 private:
  std::atomic<int> cpu_{-1};
};

} // namespace openreg
