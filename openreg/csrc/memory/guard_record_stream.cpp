// record_stream, as PyTorch's own code asks for it: the autograd engine, where a gradient crosses streams.
#include "device/guard.h"
#include "memory/allocator.h"

namespace openreg {

// LITERALINCLUDE START: GUARD RECORD STREAM FUNCTION
void Guard::recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const {
  recordStream(data, stream);
}
// LITERALINCLUDE END: GUARD RECORD STREAM FUNCTION

} // namespace openreg
