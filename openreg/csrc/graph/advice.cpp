// What to do about an error of a capture.
#include "graph/advice.h"

namespace openreg {

// LITERALINCLUDE START: CAPTURE ADVICE
const char* captureAdvice(orError_t error) {
  switch (error) {
    case orErrorStreamCaptureUnsupported:
      return ". A graph records work without running it, so inside a capture the program cannot wait for the device or "
             "see a value: no item(), print(), cpu() or synchronize(), no operator whose result's size is a value, and "
             "none that falls back to the CPU. Do this before the capture or after a replay; copy between host and "
             "device from pinned memory with non_blocking=True";
    case orErrorStreamCaptureInvalidated:
      return ". Leave the capture, and begin it anew without that call";
    case orErrorStreamCaptureUnjoined:
      return ". Let the stream that captures wait for the others before the capture ends: stream.wait_stream(other)";
    case orErrorStreamCaptureIsolation:
      return ". Let a stream of the device join the capture first: other.wait_stream(stream), with the stream that "
             "captures. A graph is of one device: copy to and from others before the capture, or after a replay";
    case orErrorStreamCaptureWrongThread:
      return ". End it there, or begin it with capture_error_mode='relaxed'";
    default:
      return "";
  }
}
// LITERALINCLUDE END: CAPTURE ADVICE

} // namespace openreg
