// Captures, as the guard offers them to PyTorch.
#include "device/guard.h"
#include "graph/capture.h"

namespace openreg {

bool Guard::isStreamCapturing(const c10::Stream& stream) const {
  return captureId(stream) != 0;
}

} // namespace openreg
