// Functions that are called when a device has no memory left, before the error is raised.
#include "memory/history/observers.h"

#include "device/device_name.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include <deque>
#include <mutex>
#include <vector>

namespace openreg {
namespace {

std::mutex observersMutex;

// Never destroyed, nor is what is in it: a thread may run out of memory while the process ends.
std::deque<OutOfMemoryObserver>& observers() {
  static auto& all = *new std::deque<OutOfMemoryObserver>;
  return all;
}

} // namespace

// LITERALINCLUDE START: OBSERVER FUNCTIONS
void attachOutOfMemoryObserver(OutOfMemoryObserver observer) {
  const std::lock_guard lock(observersMutex);
  observers().push_back(std::move(observer));
}

void callOutOfMemoryObservers(const Shortage& shortage, size_t free) {
  thread_local bool calling = false;
  if (calling) {
    return; // an observer has found no memory either; it is told so by its own error
  }
  std::vector<const OutOfMemoryObserver*> all;
  {
    const std::lock_guard lock(observersMutex);
    for (const auto& observer : observers()) {
      all.push_back(&observer); // stays where it is
    }
  }
  calling = true;
  const auto done = c10::make_scope_exit([] { calling = false; });
  for (const auto* observer : all) {
    try {
      (*observer)(shortage.device, shortage.asked, shortage.limit, free);
    } catch (const std::exception& error) {
      TORCH_WARN(kDeviceName, ": an observer of missing memory has failed: ", error.what());
    }
  }
}
// LITERALINCLUDE END: OBSERVER FUNCTIONS

} // namespace openreg
