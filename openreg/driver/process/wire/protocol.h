/**
 * @file protocol.h
 * @brief The wire between the host and the executor of a device: what is said, in which bytes.
 *
 * **Who is there.** The host is the process that calls openreg.h. An executor is a subprocess of it: one device, whose
 * memory and streams exist only there.
 *
 * **What connects them.** A Unix socket of whole messages (`SOCK_SEQPACKET`), and shared memory without a name
 * (`memfd_create`), so that nothing is left behind whoever dies first:
 *
 * | what    | who has it mapped       | what it is for                                                              |
 * |---------|-------------------------|-----------------------------------------------------------------------------|
 * | socket  | both                    | Hello and Welcome; doorbell; descriptors; its end is the other side's end   |
 * | channel | both; one per device    | ring of frames, the answer (channel.h)                                      |
 * | board   | host, all executors     | how far each stream is; failures (board.h). An executor writes its own part |
 * | pinned  | host; executors in part | pinned host memory: an executor maps the blocks that it copies from or to   |
 * | memory  | executor and its peers  | the device's memory. The host has addresses and a descriptor, never a view  |
 *
 * **Start.** The executor is given the socket as file descriptor 3. The host sends Hello with the descriptors of
 * channel, board, memory and pinned, in this order. The executor answers Welcome with its version, or with a text that
 * says why it cannot serve, and then serves frames until the socket ends.
 *
 * **Frames.** The host writes frames into the ring; each is a Header, the payload that belongs to its kind (frames.h),
 * and for some kinds variable data. Frames are numbered 1, 2, 3, …; a gap, a wrong magic, a size that does not fit or
 * an unknown kind is a garbled frame: the executor writes what it saw to the board and exits, because after that it
 * could only guess. Most frames are *posted*: the host does not wait for them. A frame with kWantsAnswer is a
 * *request*: the executor writes an Answer with the request's number, an error code, and the answer's payload or the
 * error's text. A device has at most one request at a time, and the executor answers it without waiting for any stream.
 *
 * **Belief.** Neither side believes what it reads from the other. A value is copied before it is checked, so that it
 * cannot change in between, and checked before it is used: numbers, sizes, codes, addresses, whether a fence can have
 * come so far. The host ends an executor that says what cannot be, and its device is lost. It writes to its own part of
 * the board, its channel, its memory, and what it has been handed; nothing else of the host or its peers is writable
 * there.
 *
 * **Order.** Frames are taken in the order of the ring. Work is then ordered by the stream it names, as openreg.h says.
 *
 * **Waiting.** No request waits for a stream: that would stop all other frames. The host posts a Fence frame; when the
 * stream has come so far, the executor advances the stream's fence on the board, and whoever waits sleeps on that word.
 * An executor waits for another device's stream in the same way, without the host.
 *
 * **Deadlines.** A request has a deadline after which the host counts the executor as hung and ends it. Waiting for a
 * stream has none: a kernel may run for hours. A host that waits long sends Ping; only a hung executor does not answer.
 *
 * **Sleep.** An executor without frames spins, then naps, then sleeps in `poll` (`Ring::rest`). A message of one byte
 * on the socket wakes it: the doorbell.
 *
 * All numbers are little-endian; all structures have fixed sizes and no gaps.
 */
#pragma once

#include <cstdint>

namespace openreg::process {

/// Grows with every change of what follows. Both sides must have the same.
constexpr uint32_t kProtocolVersion = 6;

constexpr uint32_t kMagic = 0x4652'524F; ///< "ORRF" in memory; starts every frame, answer and message.

constexpr int kSocket = 3; ///< The executor's descriptor of the socket.

constexpr int kMaxDevices = 16;
constexpr uint32_t kMaxStreams = 1024;   ///< Of one device.
constexpr uint32_t kGraph = 0x8000'0000; ///< In place of a stream: the graph of that number.

/// The order of Hello's descriptors.
enum HelloDescriptor : uint32_t { kChannel, kBoard, kMemory, kPinned, kDescriptors };

/// The host's first message. It carries the descriptors of channel, board, memory and pinned.
struct Hello {
  uint32_t magic = kMagic;
  uint32_t version = kProtocolVersion;
  int32_t device = 0;       ///< Index of the executor's device.
  int32_t deviceCount = 0;  ///< Devices of the host.
  uint64_t memoryBase = 0;  ///< First address of the device's memory: what pointers look like.
  uint64_t memoryBytes = 0; ///< Size of the device's memory.
  uint64_t pinnedBytes = 0; ///< Size of the pinned range.
  char options[512] = "";   ///< The host's OPENREG_SIM.
};

/// The executor's answer.
struct Welcome {
  uint32_t magic = kMagic;
  uint32_t version = kProtocolVersion;
  int32_t error = 0;   ///< An orError_t; if it is not 0 the executor ends.
  char text[508] = ""; ///< Why.
};

/// Carries the descriptor of memory; comes before the PeerMemory or OpenMemory frame that says what it is for.
struct Grant {
  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  uint64_t address = 0; ///< The address in that frame.
};

// LITERALINCLUDE START: WIRE HEADER
/// Precedes each frame.
struct Header {
  uint32_t magic = kMagic;
  uint16_t kind = 0;    ///< A Kind.
  uint16_t flags = 0;   ///< kWantsAnswer or 0.
  uint32_t bytes = 0;   ///< Of the whole frame with this header; a multiple of kFrameAlignment.
  uint32_t payload = 0; ///< Bytes of the payload and what follows it, without padding.
  uint64_t number = 0;  ///< 1, 2, 3, …
  uint64_t reserved = 0;
};
// LITERALINCLUDE END: WIRE HEADER

constexpr uint16_t kWantsAnswer = 1;
constexpr uint32_t kFrameAlignment = 32; ///< So that a header never wraps around the ring's end.
constexpr uint32_t kMaxFrameBytes = 16384;
static_assert(sizeof(Header) == kFrameAlignment);

/// What an executor writes for a request.
struct Answer {
  uint32_t magic = kMagic;
  int32_t error = 0;    ///< An orError_t.
  uint64_t number = 0;  ///< Of the request.
  uint32_t payload = 0; ///< Bytes of `data`.
  uint32_t reserved = 0;
  char data[1024] = ""; ///< The payload, or the error's text with its final zero.
};

} // namespace openreg::process
