// The short way between ranks of one machine: each reads the others' device memory, and nothing passes through the
// host.
#pragma once

#include "distributed/direct/meeting.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: DIRECT
/**
 * @brief What a group has that goes directly from device to device: a meeting, and of each rank a buffer on its device.
 *
 * A rank writes what others are to read into its own buffer, meets them, and reads theirs. Values of any size go in
 * pieces. The buffer has three parts, used in turn: while the others still read one piece, and all reduce the next, a
 * rank may write the one after that.
 */
class Direct {
 public:
  static constexpr int64_t kPart = int64_t{1} << 20; ///< Bytes of a part: they stay in the processor's caches.
  static constexpr int64_t kParts = 3;

  /**
   * @brief What the user asks for, in the environment's `OCCL_TRANSPORT`: empty, "staged" or "direct".
   * @throws c10::ValueError for anything else.
   */
  static std::string wanted();

  /**
   * @brief Finds out whether all ranks can; either all of them get one, or none does. Blocks until they have met.
   * @param store Keys that no earlier group has used.
   * @param asked What wanted() said when the group was made.
   * @param[out] reason Why not, in words: the first rank that can't, and what it lacks.
   * @return Null if not.
   * @throws c10::DistBackendError if not, and "direct" was asked for.
   */
  static std::unique_ptr<Direct> connect(
      const c10::intrusive_ptr<c10d::Store>& store,
      int rank,
      int size,
      c10::Device device,
      const std::string& asked,
      std::string& reason);

  Meeting& meeting() { return *meeting_; }

  /** @brief Bytes of a rank's buffer, in the part that a piece has. */
  at::Tensor bytes(int rank, int64_t piece, int64_t offset, int64_t count) const;

 private:
  Direct() = default;

  std::unique_ptr<Meeting> meeting_;
  std::vector<at::Tensor> buffers_; // of each rank
};
// LITERALINCLUDE END: DIRECT

} // namespace openreg
