// Marks the children of a process that has used a device.
#include "fork.h"

#include <pthread.h>

#include "activity.h"
#include "driver.h"
#include "state.h"

namespace openreg::api {

namespace {

std::atomic<bool> used{false};

void beforeFork() {
  configurationMutex().lock();
  if (const Driver* loaded = loadedDriver.load(std::memory_order_acquire)) {
    for (int device = 0; device < loaded->count; ++device) {
      noteUse(device);
    }
  }
}

void inParent() {
  configurationMutex().unlock();
}

void inChild() {
  const bool unusable = used.load(std::memory_order_relaxed);
  if (unusable) {
    attention.fetch_or(kForked, std::memory_order_relaxed);
  }
  forgetListeners(unusable);
  configurationMutex().unlock();
}

} // namespace

std::mutex& configurationMutex() {
  static auto& mutex = *new std::mutex; // Never destroyed: a fork may come after the static destructors.
  return mutex;
}

void watchForks() {
  pthread_atfork(beforeFork, inParent, inChild);
}

void noteUse(int device) {
  const auto getState = driver().table.DeviceGetState;
  int active =
      1; // A driver that cannot tell is taken to be in use: a child that refuses is better than one that hangs.
  if (getState == nullptr || getState(&active, device) != orSuccess || active != 0) {
    used.store(true, std::memory_order_relaxed);
  }
}

} // namespace openreg::api
