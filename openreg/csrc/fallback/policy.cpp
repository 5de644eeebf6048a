// What the fallback may serve, who serves it, and a count of what was served.
#include "fallback/policy.h"

#include "device/device_name.h"

#include <c10/util/Exception.h>

#include <map>
#include <mutex>
#include <unordered_set>

namespace openreg {
namespace {

struct State {
  std::mutex mutex;
  std::map<std::string, ServeFallback> modes = {{"raise", nullptr}}; // which serves nothing
  std::string mode = "cpu";
  int refusing = 0; // periods without fallback, of all threads
  std::unordered_set<c10::OperatorName> blocked;
  std::unordered_map<c10::OperatorName, ServeFallback> versions; // of operators without a CPU kernel
  // Keyed by what the dispatcher has at hand: making a string for each call would cost more than counting.
  std::unordered_map<c10::OperatorName, int64_t> counts;
};

// Never destroyed: a thread of the autograd engine may still be counting when the process ends.
State& state() {
  static auto* object = new State;
  return *object;
}

c10::OperatorName parse(const std::string& op) {
  const auto dot = op.find('.');
  TORCH_CHECK(
      op.find("::") != std::string::npos, "block_fallback: argument 'op' is '", op,
      "'; expected a name such as 'aten::sin' or 'aten::sin.out'");
  return {op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)};
}

/// "'cpu', 'raise'".
std::string listed(const std::map<std::string, ServeFallback>& modes) {
  std::string text;
  for (const auto& [name, serve] : modes) {
    text += (text.empty() ? "'" : ", '") + name + "'";
  }
  return text;
}

} // namespace

FallbackMode::FallbackMode(const char* name, ServeFallback serve) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.modes.insert_or_assign(name, serve);
}

CpuVersion::CpuVersion(const char* op, ServeFallback serve) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.versions.insert_or_assign(parse(std::string("aten::") + op), serve);
}

// LITERALINCLUDE START: ADMIT FALLBACK
ServeFallback admitFallback(const c10::OperatorName& op) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  const bool refused = s.refusing > 0 || s.mode == "raise";
  const bool blocked = s.blocked.contains(op);
  if (!refused && !blocked) {
    ++s.counts[op];
  }
  const auto version = s.versions.find(op);
  const auto serve = version != s.versions.end() ? version->second : s.modes.at(s.mode);
  lock.unlock(); // making an exception may take Python's GIL, and whoever holds that may wait for this lock
  TORCH_CHECK_NOT_IMPLEMENTED(
      !refused, kDeviceName, ": '", op, "' has no kernel for ", kDeviceName,
      ", and falling back to the CPU is refused");
  TORCH_CHECK_NOT_IMPLEMENTED(
      !blocked, kDeviceName, ": '", op, "' has no kernel for ", kDeviceName,
      ", and its fallback to the CPU is blocked");
  return serve;
}
// LITERALINCLUDE END: ADMIT FALLBACK

std::unordered_map<std::string, int64_t> fallbackCounts() {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  std::unordered_map<std::string, int64_t> counts;
  for (const auto& [op, count] : s.counts) {
    counts.emplace(c10::toString(op), count);
  }
  return counts;
}

void resetFallbackCounts() {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.counts.clear();
}

std::string setFallbackMode(std::string mode) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  if (!s.modes.contains(mode)) {
    const auto known = listed(s.modes);
    lock.unlock(); // as above
    TORCH_CHECK_VALUE(false, "set_fallback: argument 'mode' is '", mode, "'; expected one of ", known);
  }
  return std::exchange(s.mode, std::move(mode));
}

void beginNoFallback() {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  ++s.refusing;
}

void endNoFallback() {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  --s.refusing;
}

void blockFallback(const std::string& op, bool block) {
  auto name = parse(op);
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  if (block) {
    s.blocked.insert(std::move(name));
  } else {
    s.blocked.erase(name);
  }
}

} // namespace openreg
