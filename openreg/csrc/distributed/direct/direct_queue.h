// What a collective that goes directly is written with.
#pragma once

#include "distributed/direct/direct.h"
#include "distributed/operation.h"

#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace openreg {

// LITERALINCLUDE START: DIRECT QUEUE
/**
 * @brief Queues the parts of one direct collective on the communication stream, which is current. Nothing blocks.
 *
 * Each part is work of the device: copies into this rank's buffer, a meeting, kernels that read the others' buffers.
 */
class DirectQueue {
 public:
  DirectQueue(ProcessGroup& group, Operation& operation, Direct& direct, Announcement announcement);

  /** @brief Values in a rank's buffer: of the piece with this number, from a byte on. */
  at::Tensor view(int rank, int64_t piece, int64_t offset, int64_t count, at::ScalarType dtype) const;
  /** @brief Writes values of a piece into this rank's buffer. */
  void write(int64_t piece, int64_t offset, const at::Tensor& values);
  /** @brief What is queued from here on comes after what every rank has queued before its meeting. */
  void meet();
  /** @brief Copies values from a buffer; after a meeting that has failed, 0xFF. */
  void read(const at::Tensor& into, const at::Tensor& from);
  /** @brief The last meeting: all have read, and the buffers are free. */
  void finish();

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  ProcessGroup& group_;
  Operation& operation_;
  Direct& direct_;
  std::optional<Announcement> announcement_; // until it has been made
  const int rank_;
  const int size_;
  at::Tensor verdict_; // 0, or -1 once a meeting has failed
};
// LITERALINCLUDE END: DIRECT QUEUE

/** @brief all_reduce, or reduce to `root`, of a flat tensor in place. */
void directReduce(DirectQueue& queue, const at::Tensor& flat, const c10d::ReduceOp& reduceOp, int root);

/** @brief reduce_scatter of flat tensors. */
void directReduceScatter(
    DirectQueue& queue, const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& reduceOp);

/**
 * @brief Values that every rank in `outputs` gets from every other: broadcast, all_gather and gather.
 * @param input This rank's; undefined if nobody reads it.
 * @param outputs For each rank, where its values go; undefined if they aren't read here.
 */
void directGather(DirectQueue& queue, const at::Tensor& input, const std::vector<at::Tensor>& outputs);

/** @brief scatter of flat tensors. @param inputs The root's; empty on other ranks. */
void directScatter(DirectQueue& queue, const at::Tensor& output, const std::vector<at::Tensor>& inputs, int root);

} // namespace openreg
