// A piece of work in a stream's queue.
#pragma once

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

 protected:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
};

} // namespace openreg::sim
