// Writes frames into a ring.
#include "ring_writer.h"

#include <cstring>

namespace openreg::process {

uint64_t RingWriter::endOf(uint32_t bytes) const {
  const uint64_t offset = written_ % Ring::kBytes;
  return written_ + bytes + (offset + bytes > Ring::kBytes ? Ring::kBytes - offset : 0);
}

void RingWriter::write(Header header, std::initializer_list<Piece> pieces) {
  uint64_t offset = written_ % Ring::kBytes;
  if (offset + header.bytes > Ring::kBytes) {
    Header gap;
    gap.bytes = static_cast<uint32_t>(Ring::kBytes - offset);
    gap.number = ++numbered_;
    std::memcpy(ring_.bytes + offset, &gap, sizeof(gap));
    written_ += gap.bytes;
    offset = 0;
  }
  header.number = ++numbered_;
  std::memcpy(ring_.bytes + offset, &header, sizeof(header));
  unsigned char* at = ring_.bytes + offset + sizeof(header);
  for (const Piece piece : pieces) {
    if (!piece.empty()) {
      std::memcpy(at, piece.data(), piece.size());
      at += piece.size();
    }
  }
  written_ += header.bytes;
}

// LITERALINCLUDE START: RING PUBLISH
bool RingWriter::publish(Urgency urgency) {
  ring_.writerCpu.store(currentCpu(), std::memory_order_relaxed);
  ring_.written.store(written_); // Sequentially consistent, as the reader's side: one of the two sees the other.
  const Rest rest = ring_.rest.load();
  if (rest == Rest::Awake || (rest == Rest::Napping && urgency == Urgency::Soon)) {
    return false;
  }
  return ring_.rest.exchange(Rest::Awake) != Rest::Awake; // One bell is enough.
}
// LITERALINCLUDE END: RING PUBLISH

} // namespace openreg::process
