// What a rank says about an operation before it exchanges any values, so that ranks that disagree find out.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace openreg {

/** @brief What Python calls an operation. Does not block. Any thread. */
const char* nameOf(c10d::OpType type);

// LITERALINCLUDE START: ANNOUNCEMENT
/**
 * @brief What one rank is about to do.
 *
 * Bytes to and from each rank are all it takes: what a rank sends must be what the other one expects. So one rule
 * serves every operation.
 */
struct Announcement {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  int64_t root = -1;            ///< -1: the operation has none.
  int64_t reduction = -1;       ///< A c10d::ReduceOp::RedOpType; -1: values only move.
  int64_t dtype = -1;           ///< A c10::ScalarType, of values that are reduced; -1: bytes are enough.
  std::vector<int64_t> sends;   ///< Bytes for each rank.
  std::vector<int64_t> expects; ///< Bytes from each rank.

  /** @brief As numbers that travel: as many for every operation of a group. */
  std::vector<int64_t> pack() const;
  /** @brief From pack() of some rank. */
  static Announcement unpack(const int64_t* numbers, int size);
  /** @brief How many numbers pack() has, in a group of `size` ranks. */
  static int64_t length(int size) { return 4 + 2 * static_cast<int64_t>(size); }
  /** @brief In words, for errors: "all_reduce (sum) of 16 bytes of Float". */
  std::string describe() const;
};

/**
 * @brief Makes sure that the ranks of a group do the same. Each rank finds the same first disagreement.
 * @param all What each rank has announced, in the order of the ranks.
 * @throws c10::DistBackendError that names two ranks and what each of them does.
 */
void checkAgreement(const std::vector<Announcement>& all);
// LITERALINCLUDE END: ANNOUNCEMENT

} // namespace openreg
