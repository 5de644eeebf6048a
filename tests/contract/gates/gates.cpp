// Gates: a function of the host that stands in a stream until a test lets it go. In C++, so that neither a driver's
// thread nor the deadline ever waits for Python's lock.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Gate {
  std::string name;
  std::chrono::duration<double> deadline;
  bool open = false;
  bool late = false;
  int waiting = 0;
};

// Never destroyed: a driver's thread may stand at a gate until the process ends.
auto& mutex = *new std::mutex;
auto& changed = *new std::condition_variable;
auto& gates = *new std::vector<Gate*>; // Those that have not been destroyed.

void stand(Gate& gate, std::unique_lock<std::mutex>& lock) {
  ++gate.waiting;
  if (!changed.wait_for(lock, gate.deadline, [&] { return gate.open; })) {
    std::fprintf(
        stderr, "gate '%s' was not opened within its deadline of %g s\n", gate.name.c_str(), gate.deadline.count());
    gate.open = gate.late = true;
    changed.notify_all();
  }
  --gate.waiting;
}

} // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

/// A closed gate. It stays in memory: a stream may come to it at any time.
EXPORT Gate* gateCreate(const char* name, double deadlineSeconds) {
  auto* gate = new Gate{name, std::chrono::duration<double>(deadlineSeconds)};
  const std::lock_guard lock(mutex);
  gates.push_back(gate);
  return gate;
}

/// The function that stands in the stream: an orHostFn_t.
EXPORT void gateStand(void* gate) {
  std::unique_lock lock(mutex);
  stand(*static_cast<Gate*>(gate), lock);
}

/// Lets everybody through, for good.
EXPORT void gateOpen(Gate* gate) {
  const std::lock_guard lock(mutex);
  gate->open = true;
  changed.notify_all();
}

/// Opens it; no thread stands at a pause point of its name any more.
EXPORT void gateDestroy(Gate* gate) {
  gateOpen(gate);
  const std::lock_guard lock(mutex);
  gates.erase(std::remove(gates.begin(), gates.end(), gate), gates.end());
}

/// How many streams stand there.
EXPORT int gateWaiting(Gate* gate) {
  const std::lock_guard lock(mutex);
  return gate->waiting;
}

/// Whether it has been passed because its deadline was over.
EXPORT int gateIsLate(Gate* gate) {
  const std::lock_guard lock(mutex);
  return gate->late ? 1 : 0;
}

/// Holds a thread up at a pause point (orSimSetPauseFunction) if there is a closed gate of that name and nobody stands
/// there yet: a test lets one thread be overtaken by the others.
EXPORT void gatePause(const char* point) {
  std::unique_lock lock(mutex);
  const auto found = std::find_if(
      gates.begin(), gates.end(), [&](const Gate* it) { return it->name == point && !it->open && it->waiting == 0; });
  if (found != gates.end()) {
    stand(**found, lock);
  }
}
}
