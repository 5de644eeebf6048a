// All devices stand still for a moment: nothing touches their memory while what is behind an address changes.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace openreg::sim {

/// One for the whole simulator. Work that touches device memory does so inside a `Touch`: kernels, copies, fills. None
/// of it waits for other work while it is inside, so a standstill lasts as long as the longest kernel that runs.
class Standstill {
 public:
  /// Somebody touches memory.
  class Touch {
   public:
    explicit Touch(Standstill& of) : of_(of) {
      if (of.wanted_.load(std::memory_order_relaxed)) [[unlikely]] {
        const std::lock_guard behind(of.turn_); // Streams that are never idle at once would keep a standstill waiting.
      }
      of.touching_.lock_shared();
    }
    ~Touch() { of_.touching_.unlock_shared(); }
    Touch(const Touch&) = delete;
    Touch& operator=(const Touch&) = delete;

   private:
    Standstill& of_;
  };

  /// Nobody does.
  class Hold {
   public:
    explicit Hold(Standstill& of) : of_(of), turn_(of.turn_) {
      of.wanted_.store(true, std::memory_order_relaxed);
      of.touching_.lock();
    }
    ~Hold() {
      of_.touching_.unlock();
      of_.wanted_.store(false, std::memory_order_relaxed);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Standstill& of_;
    const std::lock_guard<std::mutex> turn_;
  };

 private:
  std::shared_mutex touching_;
  std::mutex turn_;
  std::atomic<bool> wanted_{false};
};

} // namespace openreg::sim
