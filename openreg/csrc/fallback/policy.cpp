// What the fallback may serve, and a count of what it has served.
#include "fallback/policy.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <unordered_set>

namespace openreg {
namespace {

struct State {
  std::mutex mutex;
  bool refuseAll = false;
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
void admitFallback(const c10::OperatorName& op) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !s.refuseAll, "openreg: '", op, "' has no kernel for openreg, and falling back to the CPU is refused");
  TORCH_CHECK_NOT_IMPLEMENTED(
      s.blocked.empty() || !s.blocked.contains(op), "openreg: '", op,
      "' has no kernel for openreg, and its fallback to the CPU is blocked");
  ++s.counts[op];
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

bool refuseFallbacks(bool refuse) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  return std::exchange(s.refuseAll, refuse);
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
