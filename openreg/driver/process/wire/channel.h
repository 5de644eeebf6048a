/**
 * @file channel.h
 * @brief The channel: shared memory of the host and one executor, with the ring of frames.
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

/// Through which bulk data goes from and to memory that the executor cannot see. A copy uses several chunks in turn, so
/// that one side fills the next while the other empties the last.
constexpr uint64_t kStagingChunk = 1024 * 1024;
constexpr uint32_t kStagingChunks = 16;

struct Channel {
  Ring ring;
  alignas(64) Fence answered; ///< Number of the request that `answer` answers.
  Answer answer;
  alignas(4096) unsigned char staging[kStagingChunks * kStagingChunk];
};

} // namespace openreg::process
