// What a collective that goes directly is written with.
#include "distributed/direct/direct_queue.h"

#include "distributed/process_group.h"

#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/empty.h>

#include <utility>

namespace openreg {

namespace {

// Whether the same bytes can be had as integers of eight.
bool hasWords(const at::Tensor& bytes) {
  constexpr int64_t kWord = sizeof(int64_t);
  return bytes.numel() % kWord == 0 && bytes.storage_offset() % kWord == 0;
}

} // namespace

DirectQueue::DirectQueue(ProcessGroup& group, Operation& operation, Direct& direct, Announcement announcement)
    : group_(group), operation_(operation), direct_(direct), announcement_(std::move(announcement)),
      rank_(group.getRank()), size_(group.getSize()) {
  if (!operation_.verdict.defined()) {
    operation_.verdict = pinned({1}, at::kLong).zero_();
  }
  verdict_ = at::empty({1}, at::TensorOptions(at::kLong).device(operation_.device));
}

at::Tensor DirectQueue::view(int rank, int64_t piece, int64_t offset, int64_t count, at::ScalarType dtype) const {
  return direct_.bytes(rank, piece, offset, count * static_cast<int64_t>(c10::elementSize(dtype))).view(dtype);
}

void DirectQueue::write(int64_t piece, int64_t offset, const at::Tensor& values) {
  view(rank_, piece, offset, values.numel(), values.scalar_type()).copy_(values);
}

// LITERALINCLUDE START: DIRECT MEET
void DirectQueue::meet() {
  group_.queueMeeting(operation_, std::exchange(announcement_, std::nullopt));
  verdict_.copy_(operation_.verdict, /*non_blocking=*/true); // as the meeting has left it
}

// Poison costs nothing this way: a copy reads and writes as much. Every type is integers here, the widest that fit
// both.
void DirectQueue::read(const at::Tensor& into, const at::Tensor& from) {
  const auto target = into.view({-1}).view(at::kByte);
  const auto source = from.view({-1}).view(at::kByte);
  const auto integer = hasWords(target) && hasWords(source) ? at::kLong : at::kByte;
  auto words = target.view(integer);
  at::bitwise_or_out(words, source.view(integer), verdict_.to(integer));
}
// LITERALINCLUDE END: DIRECT MEET

void DirectQueue::finish() {
  group_.queueMeeting(operation_, std::exchange(announcement_, std::nullopt));
}

} // namespace openreg
