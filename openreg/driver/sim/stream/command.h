// A piece of work in a stream's queue.
#pragma once

#include <cstdint>

#include "openreg.h"

namespace openreg::sim {

class Stream;

/// Lives in the queue's memory: constructed there by who submits it, run and destroyed by the stream's worker. What a
/// command holds on to (memory, pinned buffers) it holds by RAII, so that a command that is dropped lets go of it too.
class Command {
 public:
  virtual ~Command() = default;

  /// Does the work, on the stream's worker thread.
  virtual void run(Stream& stream) = 0;

  /// Whether it is run even after the device has failed. Events complete then, so that nobody waits for ever.
  virtual bool runsAfterFailure() const { return false; }

  /// Asked after the work: says in `record` what it was. False for what is not recorded.
  virtual bool describeWork(orActivityRecord& record) const {
    (void)record;
    return false;
  }

  uint64_t correlation = 0; ///< Number of the call that submitted it; 0: it is not recorded.

 protected:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
};

} // namespace openreg::sim
