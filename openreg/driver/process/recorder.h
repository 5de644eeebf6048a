// Records of an executor's work: what the host knows of it, and when the executor says that it was done.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "openreg.h"
#include "wire/channel.h"

namespace openreg::process {

/// Belongs to one executor: what it hasn't done when it ends has no record.
class Recorder {
 public:
  explicit Recorder(Records& ring) : ring_(ring) {}

  /// Work is about to be posted that is to be recorded. Its record is complete but for the times.
  void expect(const orActivityRecord& work);

  /// Delivers the records of what has been done. When it returns, those of all work before a fence that the caller has
  /// seen reached have been delivered, whichever thread does it.
  /// @return What the executor says that cannot be; "" if nothing.
  std::string collect();

 private:
  std::string take(const WorkTimes& times);

  Records& ring_;
  std::mutex expecting_;
  std::multimap<uint64_t, orActivityRecord> expected_; ///< By correlation, which a graph's nodes share: in their order.
  std::mutex collecting_;                              ///< Held during callbacks, so that no record overtakes.
  uint64_t taken_ = 0;                                 ///< Guarded by `collecting_`.
};

} // namespace openreg::process
