// Chunks of a staging area.
#include "staging.h"

#include <algorithm>

namespace openreg::process {

Staging::Staging() {
  for (uint32_t i = kStagingChunks; i-- > 0;) {
    free_.push_back(i); // The lowest is taken first, so that small copies stay in the cache.
  }
}

Staging::Lease::Lease(Staging& from, size_t wanted) : from_(from) {
  std::unique_lock lock(from_.mutex_);
  from_.given_.wait(lock, [&] { return !from_.free_.empty(); });
  const size_t count = std::min(wanted, from_.free_.size());
  chunks_.assign(from_.free_.rbegin(), from_.free_.rbegin() + static_cast<ptrdiff_t>(count));
  from_.free_.resize(from_.free_.size() - count);
}

Staging::Lease::~Lease() {
  {
    const std::lock_guard lock(from_.mutex_);
    from_.free_.insert(from_.free_.end(), chunks_.rbegin(), chunks_.rend());
  }
  from_.given_.notify_all();
}

} // namespace openreg::process
