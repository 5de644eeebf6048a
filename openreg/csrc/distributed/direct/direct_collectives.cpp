// Collectives in which each rank reads the others' device memory.
#include "distributed/direct/direct_queue.h"
#include "distributed/reduce_op.h"

#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>

#include <algorithm>

namespace openreg {

namespace {

// Parts begin at multiples of this many elements, so that their bytes can be read in words.
constexpr int64_t kElements = 8;

int64_t roundUp(int64_t count) {
  return (count + kElements - 1) / kElements * kElements;
}

// How many elements each of `ranks` may have in a part of a buffer.
int64_t roomForEach(int ranks, const at::Tensor& values) {
  return Direct::kPart / ranks / values.element_size() / kElements * kElements;
}

int64_t pieceCount(int64_t count, int64_t room) {
  return std::max(int64_t{1}, (count + room - 1) / room);
}

// LITERALINCLUDE START: REDUCE BY KERNELS
void combine(at::Tensor& result, const at::Tensor& a, const at::Tensor& b, const c10d::ReduceOp& reduceOp) {
  switch (reduceOp.op_) {
    case c10d::ReduceOp::PRODUCT:
      at::mul_out(result, a, b);
      return;
    case c10d::ReduceOp::MIN:
      at::minimum_out(result, a, b);
      return;
    case c10d::ReduceOp::MAX:
      at::maximum_out(result, a, b);
      return;
    case c10d::ReduceOp::BAND:
      at::bitwise_and_out(result, a, b);
      return;
    case c10d::ReduceOp::BOR:
      at::bitwise_or_out(result, a, b);
      return;
    case c10d::ReduceOp::BXOR:
      at::bitwise_xor_out(result, a, b);
      return;
    default: // a sum, an average or a sum of what has been multiplied
      at::add_out(result, a, b);
  }
}

// What all ranks have of the part that is this rank's: `own`, and the others' at `offset` of their buffers. The result
// is left there in its own buffer. One rank computes each part, so all get the same bits.
at::Tensor
reducePart(DirectQueue& queue, int64_t piece, int64_t offset, const at::Tensor& own, const c10d::ReduceOp& reduceOp) {
  auto result = queue.view(queue.rank(), piece, offset, own.numel(), own.scalar_type());
  auto sum = factored(own, reduceOp);
  for (int rank = 0; rank < queue.size(); ++rank) {
    if (rank != queue.rank()) {
      combine(result, sum, queue.view(rank, piece, offset, own.numel(), own.scalar_type()), reduceOp);
      sum = result;
    }
  }
  if (!sum.is_same(result)) {
    result.copy_(sum); // there are no others
  }
  if (reduceOp == c10d::ReduceOp::AVG) {
    divideByRanks(result, queue.size());
  }
  return result;
}
// LITERALINCLUDE END: REDUCE BY KERNELS

// A tensor in pieces, and each piece in parts: one for each rank to reduce.
class Pieces {
 public:
  Pieces(const at::Tensor& flat, int ranks)
      : flat_(flat), part_(std::min(roomForEach(ranks, flat), roundUp((flat.numel() + ranks - 1) / ranks))),
        piece_(std::max(int64_t{1}, part_ * ranks)) {}

  int64_t count() const { return pieceCount(flat_.numel(), piece_); }
  int64_t offset(int rank) const { return rank * part_ * flat_.element_size(); } ///< In a buffer, in bytes.
  at::Tensor part(int64_t piece, int rank) const {
    const auto end = std::min(flat_.numel(), (piece + 1) * piece_);
    const auto begin = std::min(end, piece * piece_ + rank * part_);
    return flat_.narrow(0, begin, std::min(part_, end - begin));
  }

 private:
  at::Tensor flat_;
  int64_t part_;
  int64_t piece_;
};

} // namespace

// LITERALINCLUDE START: DIRECT REDUCE
void directReduce(DirectQueue& queue, const at::Tensor& flat, const c10d::ReduceOp& reduceOp, int root) {
  const Pieces pieces(flat, queue.size());
  const auto write = [&](int64_t piece) {
    for (int rank = 0; rank < queue.size(); ++rank) {
      if (rank != queue.rank()) {
        queue.write(piece, pieces.offset(rank), factored(pieces.part(piece, rank), reduceOp));
      }
    }
  };
  const auto read = [&](int64_t piece) {
    for (int rank = 0; rank < queue.size() && (root < 0 || root == queue.rank()); ++rank) {
      const auto part = pieces.part(piece, rank);
      queue.read(part, queue.view(rank, piece, pieces.offset(rank), part.numel(), part.scalar_type()));
    }
  };

  write(0);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    queue.meet(); // All have written this piece, and reduced the one before it.
    if (piece > 0) {
      read(piece - 1);
    }
    reducePart(queue, piece, pieces.offset(queue.rank()), pieces.part(piece, queue.rank()), reduceOp);
    if (piece + 1 < pieces.count()) {
      write(piece + 1);
    }
  }
  queue.meet();
  read(pieces.count() - 1);
  queue.finish();
}
// LITERALINCLUDE END: DIRECT REDUCE

void directReduceScatter(
    DirectQueue& queue, const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& reduceOp) {
  const auto room = roomForEach(queue.size(), input);
  const auto rows = input.view({queue.size(), output.numel()});
  for (int64_t piece = 0; piece < pieceCount(output.numel(), room); ++piece) {
    const auto begin = piece * room;
    const auto count = std::min(room, output.numel() - begin);
    const auto offset = [&](int rank) { return rank * room * input.element_size(); };
    for (int rank = 0; rank < queue.size(); ++rank) {
      if (rank != queue.rank()) {
        queue.write(piece, offset(rank), factored(rows[rank].narrow(0, begin, count), reduceOp));
      }
    }
    queue.meet();
    const auto own = rows[queue.rank()].narrow(0, begin, count);
    queue.read(output.narrow(0, begin, count), reducePart(queue, piece, offset(queue.rank()), own, reduceOp));
  }
  queue.finish();
}

void directGather(DirectQueue& queue, const at::Tensor& input, const std::vector<at::Tensor>& outputs) {
  auto any = input;
  for (const auto& output : outputs) {
    any = any.defined() ? any : output;
  }
  const auto room = roomForEach(1, any);
  for (int64_t piece = 0; piece < pieceCount(any.numel(), room); ++piece) {
    const auto begin = piece * room;
    const auto count = std::min(room, any.numel() - begin);
    if (input.defined()) {
      queue.write(piece, 0, input.narrow(0, begin, count));
    }
    queue.meet();
    for (int rank = 0; rank < queue.size(); ++rank) {
      if (const auto& output = outputs[static_cast<size_t>(rank)]; output.defined()) {
        queue.read(output.narrow(0, begin, count), queue.view(rank, piece, 0, count, output.scalar_type()));
      }
    }
  }
  queue.finish();
}

void directScatter(DirectQueue& queue, const at::Tensor& output, const std::vector<at::Tensor>& inputs, int root) {
  const auto room = roomForEach(queue.size(), output);
  for (int64_t piece = 0; piece < pieceCount(output.numel(), room); ++piece) {
    const auto begin = piece * room;
    const auto count = std::min(room, output.numel() - begin);
    const auto offset = [&](int rank) { return rank * room * output.element_size(); };
    for (int rank = 0; rank < static_cast<int>(inputs.size()); ++rank) {
      queue.write(piece, offset(rank), inputs[static_cast<size_t>(rank)].narrow(0, begin, count));
    }
    queue.meet();
    const auto from = queue.view(root, piece, offset(queue.rank()), count, output.scalar_type());
    queue.read(output.narrow(0, begin, count), from);
  }
  queue.finish();
}

} // namespace openreg
