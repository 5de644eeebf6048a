// Who listens, and records of what the host calls.
#include "activity.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "common/guarded.h"
#include "common/lookup.h"
#include "common/system/platform.h"
#include "fork.h"

namespace openreg::api {

namespace {

/// A subscription, or room for one. Its function is called without a lock: who ends it takes the handle away first, and
/// then waits until nobody is inside.
struct Subscription {
  std::atomic<uint64_t> handle{0};
  std::atomic<uint32_t> inside{0}; ///< Threads that may be calling the function.
  orActivityFn_t function = nullptr;
  void* userData = nullptr;

  void deliver(const orActivityRecord* record) {
    if (handle.load(std::memory_order_relaxed) == 0) {
      return;
    }
    inside.fetch_add(1); // Sequentially consistent, as all below: either we see the handle gone, or its end sees us.
    if (handle.load() != 0) {
      function(record, userData);
    }
    if (inside.fetch_sub(1) == 1 && handle.load() == 0) {
      futexWakeAll(inside);
    }
  }

  void end() {
    handle.store(0);
    for (uint32_t now = inside.load(); now != 0; now = inside.load()) {
      futexWait(inside, now);
    }
  }
};

constinit std::array<Subscription, OPENREG_MAX_SUBSCRIBERS> subscriptions;
constinit std::atomic<uint64_t> calls{0};
uint64_t subscriptionsMade = 0;            // Guarded by configurationMutex, as what follows.
orSubscriber_t driverSubscriber = nullptr; // Ours with the driver.

void deliver(const orActivityRecord* record, void*) {
  for (Subscription& it : subscriptions) {
    it.deliver(record);
  }
}

/// The subscription of that handle; 0 finds room for one.
Subscription* find(uint64_t handle) {
  for (Subscription& it : subscriptions) {
    if (it.handle.load() == handle) {
      return &it;
    }
  }
  return nullptr;
}

bool anybodyListens() {
  return std::any_of(subscriptions.begin(), subscriptions.end(), [](auto& it) { return it.handle.load() != 0; });
}

orError_t subscribe(orSubscriber_t* subscriber, orActivityFn_t function, void* userData) {
  const std::lock_guard lock(configurationMutex());
  Subscription* it = find(0);
  if (it == nullptr) {
    return orDriverError(
        orErrorMemoryAllocation, "there are %d subscriptions, as many as there can be; expected one to be ended first",
        OPENREG_MAX_SUBSCRIBERS);
  }
  if (!anybodyListens()) {
    require(driver().table.ActivitySubscribe(&driverSubscriber, deliver, nullptr));
  }
  it->function = function;
  it->userData = userData;
  const uint64_t handle = uint64_t{static_cast<uint8_t>(HandleKind::Subscriber)} << 56 | ++subscriptionsMade;
  it->handle.store(handle);
  attention.fetch_or(kListening);
  *subscriber = handleOf<orSubscriber_t>(handle);
  return orSuccess;
}

orError_t unsubscribe(orSubscriber_t subscriber) {
  const std::lock_guard lock(configurationMutex());
  Subscription* it = subscriber != nullptr ? find(number(subscriber)) : nullptr;
  if (it == nullptr) {
    refuseHandle(HandleKind::Subscriber, number(subscriber));
  }
  it->end();
  if (anybodyListens()) {
    return orSuccess;
  }
  attention.fetch_and(~kListening);
  return driver().table.ActivityUnsubscribe(driverSubscriber);
}

} // namespace

void RecordedEntry::begin(orActivityKind kind) {
  if (!ok()) {
    return; // What is refused at once, such as any call in a forked child, does nothing.
  }
  kind_ = kind;
  thread.correlation = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  startNs_ = nowNs();
}

void RecordedEntry::end() {
  const orActivityRecord record{
      .size = sizeof(orActivityRecord),
      .kind = kind_,
      .device = device_,
      .stream = nullptr,
      .correlation = thread.correlation,
      .startNs = startNs_,
      .endNs = nowNs(),
      .name = name(),
      .bytes = bytes_,
      .direction = orMemcpyDefault,
      .host = orMemoryTypeUnregistered,
      .peer = -1,
      .address = address_};
  thread.correlation = 0;
  deliver(&record, nullptr);
}

void forgetListeners(bool unusable) {
  for (Subscription& it : subscriptions) {
    it.inside.store(0);
    if (unusable) {
      it.handle.store(0);
    }
  }
  if (unusable) {
    attention.fetch_and(~kListening);
  }
}

} // namespace openreg::api

using openreg::api::Entry;

uint64_t orDriverCorrelation(void) {
  return openreg::api::thread.correlation;
}

orError_t orActivitySubscribe(orSubscriber_t* subscriber, orActivityFn_t function, void* userData) {
  Entry entry("orActivitySubscribe");
  entry.notNull(subscriber != nullptr, "subscriber", "where to put the handle");
  entry.notNull(function != nullptr, "function", "a function that receives the records");
  entry.implemented(&OrDriver::ActivitySubscribe);
  return entry.own(openreg::guarded<openreg::api::subscribe>, subscriber, function, userData);
}

orError_t orActivityUnsubscribe(orSubscriber_t subscriber) {
  if (openreg::api::inForkedChild()) {
    return orSuccess;
  }
  Entry entry("orActivityUnsubscribe");
  entry.implemented(&OrDriver::ActivityUnsubscribe);
  return entry.own(openreg::guarded<openreg::api::unsubscribe>, subscriber);
}
