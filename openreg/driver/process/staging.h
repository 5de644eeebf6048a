// Chunks of a channel's staging area, lent to copies.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "wire/channel.h"

namespace openreg::process {

/// The chunks of one channel that nobody uses.
class Staging {
 public:
  Staging();

  /// Some chunks, given back at the end.
  class Lease {
   public:
    /// Takes up to `wanted` chunks; blocks while there is none.
    Lease(Staging& from, size_t wanted);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    size_t count() const { return chunks_.size(); }
    uint64_t offset(size_t i) const { return chunks_[i] * kStagingChunk; }

   private:
    Staging& from_;
    std::vector<uint32_t> chunks_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::vector<uint32_t> free_;
};

} // namespace openreg::process
