// Names of private memory pools.
#include "graph/pool_id.h"

#include <atomic>

namespace openreg {
namespace {

c10::CaptureId_t nextPool() {
  static constinit std::atomic<c10::CaptureId_t> given{0};
  return given.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

c10::MempoolId_t graphPoolHandle() {
  return {0, nextPool()};
}

c10::MempoolId_t ownPoolId() {
  return {nextPool(), 0};
}

} // namespace openreg
