// Captures: which are under way, and what a graph needs beside what the driver has recorded.
#pragma once

#include "graph/captured.h"

#include <openreg.h>

#include <c10/core/Stream.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace openreg {

// LITERALINCLUDE START: CAPTURE
/// How many captures of this backend's graphs are under way, of all devices and threads.
extern std::atomic<int> captures;

/** @brief Whether there is any. Asked wherever a capture would make a difference, so it costs a load. */
inline bool anyCapture() noexcept {
  return captures.load(std::memory_order_relaxed) > 0;
}

/**
 * @brief The number of the capture that a stream is in; 0 if it executes what is submitted. Disturbs no capture. Costs
 *        a load, if none is under way.
 */
uint64_t captureId(orStream_t stream) noexcept;

/** @brief The same of one of PyTorch's streams. Also 0 for a stream that there is not. */
uint64_t captureId(const c10::Stream& stream) noexcept;

/** @brief What the capture that a stream is in has collected so far; null if it is in none of ours. Any thread. */
std::shared_ptr<Captured> captureOf(orStream_t stream) noexcept;

/**
 * @brief Throws if the calling thread's current stream of a device captures. For functions whose effect a capture can't
 *        record.
 * @param function For the text: what was called.
 * @param advice For the text: what to do.
 */
void checkNotCapturing(c10::DeviceIndex device, const char* function, const char* advice);

/**
 * @brief A capture of a stream: begun when it is made, and known to the functions above until it is destroyed or ends.
 */
class Capture {
 public:
  /**
   * @brief Begins it. Does not block.
   * @throws c10::AcceleratorError if the stream captures already or the device has failed; c10::NotImplementedError if
   *         the driver has no graphs.
   */
  Capture(orStream_t stream, orStreamCaptureMode mode, std::shared_ptr<Captured> captured);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /**
   * @brief Ends it, whatever has become of it.
   * @param[out] graph Receives the driver's graph; null where there is an error.
   * @return The driver's error. After orErrorStreamCaptureWrongThread the capture goes on, and this object with it.
   */
  orError_t end(orGraph_t& graph) noexcept;

  uint64_t id() const { return id_; }

 private:
  void forget() noexcept;

  orStream_t stream_;
  uint64_t id_ = 0;
  bool underWay_ = true;
};
// LITERALINCLUDE END: CAPTURE

} // namespace openreg
