// Graphs and instantiated graphs behind their handles.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "common/handle.h"
#include "common/lookup.h"

namespace openreg {

/// Its content belongs to whoever still uses it: a launch that was submitted keeps what it launches.
template <class Device, class Content>
class GraphObject : public Handled {
 public:
  std::atomic<Device*> device{nullptr};

  /// For an owner. It has no handle until it is published.
  void open(Device& of, std::shared_ptr<const Content> content) {
    device.store(&of);
    const std::lock_guard lock(mutex_);
    content_ = std::move(content);
  }

  /// Makes the handle invalid; false if `expected` is not the handle any more.
  bool close(uint64_t expected) {
    std::shared_ptr<const Content> content; // Destroyed when the lock is not held any more.
    const std::lock_guard lock(mutex_);
    if (expected == 0 || handle.load() != expected) {
      return false;
    }
    handle.store(0);
    content = std::move(content_);
    return true;
  }

  /// What it holds; refuses the call if `expected` is not its handle any more.
  std::shared_ptr<const Content> content(uint64_t expected) const {
    const std::lock_guard lock(mutex_);
    requireStill(*this, expected);
    return content_;
  }

  /// Exchanges what it holds by `make(old)`, which is called without the lock: it may wait for a reset, and that for
  /// us.
  template <class Make>
  void replace(uint64_t expected, Make make) {
    for (;;) {
      const std::shared_ptr<const Content> old = content(expected);
      std::shared_ptr<const Content> made = make(old); // The old one afterwards, destroyed without the lock, too.
      const std::lock_guard lock(mutex_);
      requireStill(*this, expected);
      if (content_ == old) { // Else another thread has been faster, whose change must not be lost.
        content_.swap(made);
        return;
      }
    }
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Content> content_;
};

} // namespace openreg
