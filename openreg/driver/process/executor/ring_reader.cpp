// Reads frames from a ring.
#include "ring_reader.h"

#include <string>

namespace openreg::process {

namespace {

void check(const Header& frame, uint64_t number, uint64_t readable) {
  const auto fail = [&](const std::string& what) {
    throw Garbled("frame " + std::to_string(number) + " is garbled: " + what);
  };
  if (frame.magic != kMagic) {
    fail("its magic number is " + std::to_string(frame.magic) + "; expected " + std::to_string(kMagic));
  }
  if (frame.number != number) {
    fail("it is numbered " + std::to_string(frame.number));
  }
  if (frame.kind >= static_cast<uint16_t>(Kind::kCount)) {
    fail(
        "its kind is " + std::to_string(frame.kind) + "; expected less than " +
        std::to_string(static_cast<int>(Kind::kCount)));
  }
  const bool whole = frame.bytes >= sizeof(Header) && frame.bytes % kFrameAlignment == 0 && frame.bytes <= readable;
  if (!whole || (frame.kind != static_cast<uint16_t>(Kind::Gap) && frame.bytes > kMaxFrameBytes)) {
    fail("it has " + std::to_string(frame.bytes) + " bytes, of which " + std::to_string(readable) + " are there");
  }
  const bool isGap = frame.kind == static_cast<uint16_t>(Kind::Gap);
  const uint64_t room = frame.bytes - sizeof(Header);
  if (frame.payload > room || (!isGap && room - frame.payload >= kFrameAlignment)) {
    fail("its payload has " + std::to_string(frame.payload) + " bytes, the frame " + std::to_string(frame.bytes));
  }
}

} // namespace

const Header* RingReader::next() {
  for (;;) {
    const uint64_t readable = ring_.written.load() - taken_;
    if (readable == 0) {
      return nullptr;
    }
    const uint64_t offset = taken_ % Ring::kBytes;
    const auto* frame = reinterpret_cast<const Header*>(ring_.bytes + offset);
    check(*frame, ++numbered_, std::min(readable, Ring::kBytes - offset));
    if (frame->kind != static_cast<uint16_t>(Kind::Gap)) {
      return frame;
    }
    done(*frame);
  }
}

} // namespace openreg::process
