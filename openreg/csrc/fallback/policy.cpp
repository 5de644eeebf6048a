// What the fallback may serve, and a count of what it has served.
#include "fallback/policy.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <unordered_set>

namespace openreg {
namespace {

struct State {
  std::mutex mutex;
  std::string mode = "cpu";
  int refusing = 0; // periods without fallback, of all threads
  std::unordered_set<c10::OperatorName> blocked;
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

} // namespace

// LITERALINCLUDE START: ADMIT FALLBACK
std::string admitFallback(const c10::OperatorName& op) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  const bool refused = s.refusing > 0 || s.mode == "raise";
  const bool blocked = s.blocked.contains(op);
  if (!refused && !blocked) {
    ++s.counts[op];
  }
  auto mode = s.mode;
  lock.unlock(); // making an exception may take Python's GIL, and whoever holds that may wait for this lock
  TORCH_CHECK_NOT_IMPLEMENTED(
      !refused, "openreg: '", op, "' has no kernel for openreg, and falling back to the CPU is refused");
  TORCH_CHECK_NOT_IMPLEMENTED(
      !blocked, "openreg: '", op, "' has no kernel for openreg, and its fallback to the CPU is blocked");
  return mode;
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
  const std::lock_guard lock(s.mutex);
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
