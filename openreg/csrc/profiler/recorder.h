// What happens on the devices and in the driver's entries, kept until somebody looks at it.
#pragma once

#include <openreg.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace openreg {

/// A record_function of the program, and the one around it.
struct Annotation {
  uint64_t number;
  std::shared_ptr<const Annotation> outer;
};

/// A record of the driver, and what of PyTorch's it belongs to.
struct Recorded {
  orActivityRecord record{};
  uint64_t op = 0; ///< Number of the operator that ran when the call was made; 0: none. Of a call only.
  std::shared_ptr<const Annotation> annotation; ///< The innermost record_function, likewise.
  int32_t thread = 0;                           ///< The system's number of the thread that called.
};

// LITERALINCLUDE START: PROFILER RECORDER
/// Listens to the driver. Operators that begin and end on a thread say so here, so that a call knows whose it is.
class Recorder {
 public:
  Recorder() = default;
  ~Recorder() { stop(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /** @brief From now on everything is recorded. What keeps it from that is one of errors(). */
  void start() noexcept;

  /** @brief Waits for all devices that are in use, and ends. A device that has failed is one of errors(). */
  void stop() noexcept;

  // The calling thread is in an operator, or in an annotation, of this number.
  static void pushOp(uint64_t number);
  static void popOp() noexcept;
  static void pushAnnotation(uint64_t number);
  static void popAnnotation() noexcept;

  /// What there is after stop(), in no particular order.
  const std::vector<Recorded>& recorded() const { return recorded_; }
  const std::vector<std::string>& errors() const { return errors_; }

  /// Whether it was the default stream of a device at the beginning or at the end: after a reset it is another one.
  bool isDefaultStream(orStream_t stream) const { return defaultStreams_.contains(stream); }

 private:
  static void receive(const orActivityRecord* record, void* self) noexcept;
  void note(orError_t error);
  void noteDefaultStreams();

  orSubscriber_t subscriber_ = nullptr;
  std::mutex mutex_; ///< Guards what follows while it listens.
  std::vector<Recorded> recorded_;
  std::vector<std::string> errors_;
  std::set<orStream_t> defaultStreams_;
};
// LITERALINCLUDE END: PROFILER RECORDER

} // namespace openreg
