/**
 * @file channel.h
 * @brief The channel: shared memory of the host and one executor, with the ring of frames and that of records.
 */
#pragma once

#include "fence.h"
#include "protocol.h"

namespace openreg::process {

/// What the executor is doing when it has no frames.
enum class Rest : uint32_t {
  Awake = 0,
  Napping = 1, ///< Looks again within a fraction of a millisecond: ring only for what somebody waits for.
  Asleep = 2   ///< Until the doorbell rings.
};

// LITERALINCLUDE START: WIRE RING
/// Frames lie one behind the other; the ring's end is filled with a Gap. `written` and `taken` count bytes from the
/// start and never wrap.
struct Ring {
  static constexpr uint64_t kBytes = 1 << 20;

  alignas(64) std::atomic<uint64_t> written{0}; ///< By the host.
  std::atomic<int32_t> writerCpu{-1};           ///< Where the host ran then: the executor does not spin there.
  std::atomic<Rest> rest{Rest::Awake};          ///< By the executor, and by who rings the doorbell.
  std::atomic<uint32_t> sleepers{0};            ///< Threads of the host that sleep on `taken` or `answered`.
  alignas(64) Fence taken;                      ///< By the executor.
  alignas(64) unsigned char bytes[kBytes];
};
// LITERALINCLUDE END: WIRE RING

/// Memory that the executor cannot see is copied in pieces of this size, through pinned memory that it can. A copy of
/// at most so many bytes an idle executor does at once.
constexpr uint64_t kCopyChunk = 1024 * 1024;

// LITERALINCLUDE START: WIRE RECORDS
/// When a piece of work was done. What it was the host knows: it has submitted it.
struct WorkTimes {
  uint64_t correlation = 0; ///< That of its frame.
  int64_t startNs = 0;      ///< CLOCK_MONOTONIC, which all processes share.
  int64_t endNs = 0;
};

/// Such times, the other way round the ring of frames: written by the executor, before the fence behind the work, and
/// taken by the host. An executor whose ring fills rings the doorbell; if it is full, its streams wait.
struct Records {
  static constexpr uint64_t kEntries = 8192;

  alignas(64) Fence recorded;        ///< How many there have been.
  std::atomic<uint32_t> sleepers{0}; ///< Threads of the executor that sleep on `taken`.
  alignas(64) Fence taken;           ///< Of these, by the host.
  alignas(64) WorkTimes entries[kEntries];
};
// LITERALINCLUDE END: WIRE RECORDS

struct Channel {
  Ring ring;
  alignas(64) Fence answered; ///< Number of the request that `answer` answers.
  Answer answer;
  Records records;
};

} // namespace openreg::process
