// Order between our streams and those of other libraries.
#include "storage/stream_order.h"

#include "stream/current_stream.h"
#include "stream/event.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: ORDER AFTER CURRENT
void orderAfterCurrent(c10::DeviceIndex device, uint64_t stream) {
  const auto producer = currentStreamHandle(device);
  const auto consumer = stream == 0 ? streamHandle(defaultStream(device))
                                    : reinterpret_cast<orStream_t>(stream); // NOLINT(performance-no-int-to-ptr)
  if (producer != consumer) {
    const Event event(device);
    event.record(producer);
    event.block(consumer);
  }
}
// LITERALINCLUDE END: ORDER AFTER CURRENT

} // namespace openreg
