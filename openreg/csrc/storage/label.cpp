// What memory is for: "weights", "cache". Storages count their bytes under it.
#include "storage/label.h"

#include "device/device.h"

#include <mutex>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: LABEL STATE
using Key = std::pair<c10::DeviceIndex, std::string>;

// Never destroyed, like the labels: tensors die after the globals of a program do.
std::mutex& labelLock() {
  static auto* lock = new std::mutex;
  return *lock;
}

std::map<Key, Label>& labels() {
  static auto* map = new std::map<Key, Label>; // its nodes stay where they are
  return *map;
}

std::string& currentName() {
  thread_local std::string name;
  return name;
}
// LITERALINCLUDE END: LABEL STATE

} // namespace

// LITERALINCLUDE START: LABEL FUNCTIONS
Label* findLabel(const std::string& name, c10::DeviceIndex device) {
  if (name.empty()) {
    return nullptr;
  }
  const std::lock_guard lock(labelLock());
  auto& label = labels()[{device, name}];
  label.name = name;
  return &label;
}

void count(Label* label, int64_t bytes) noexcept {
  if (label != nullptr && !inBadFork()) { // in a forked child, a thread that is not there may hold the lock
    const std::lock_guard lock(labelLock());
    label->bytes += bytes;
  }
}

std::map<std::string, int64_t> bytesByLabel(c10::DeviceIndex device) {
  const std::lock_guard lock(labelLock());
  std::map<std::string, int64_t> found;
  for (const auto& [key, label] : labels()) {
    if (key.first == device && label.bytes > 0) {
      found.emplace(label.name, label.bytes);
    }
  }
  return found;
}

std::string exchangeCurrentLabel(std::string name) {
  return std::exchange(currentName(), std::move(name));
}

Label* currentLabel(c10::DeviceIndex device) {
  return findLabel(currentName(), device);
}
// LITERALINCLUDE END: LABEL FUNCTIONS

} // namespace openreg
