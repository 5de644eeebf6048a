// Pinned memory that a graph copies from or to.
#pragma once

#include <c10/core/Stream.h>

#include <mutex>
#include <set>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: CAPTURED PINNED
/**
 * @brief The pinned memory of the copies in a graph. Each replay uses it again, so nobody else is given it until the
 *        graph is gone, even if its tensor dies before.
 */
class CapturedPinned {
 public:
  CapturedPinned() = default;
  ~CapturedPinned();
  CapturedPinned(const CapturedPinned&) = delete;
  CapturedPinned& operator=(const CapturedPinned&) = delete;

  /** @brief Adds an allocation. @param base Its first address. Any thread. */
  void add(const void* base);

  /** @brief Notes that the graph is launched on a stream, whose copies may be under way when the graph goes. */
  void usedOn(const c10::Stream& stream);

 private:
  std::mutex mutex_;
  std::set<const void*> bases_;
  std::vector<c10::Stream> streams_;
};
// LITERALINCLUDE END: CAPTURED PINNED

} // namespace openreg
