// Collectives in which each rank has something else for each.
#include "distributed/collective.h"

#include <ATen/core/Tensor.h>

#include <numeric>

namespace openreg {

namespace {

// Bytes for each rank of a tensor that is split along its first dimension: by `sizes`, or evenly where there are none.
std::vector<int64_t> splitBytes(const at::Tensor& tensor, std::vector<int64_t> sizes, int ranks, const char* argument) {
  const auto rows = tensor.dim() == 0 ? int64_t{1} : tensor.size(0);
  if (sizes.empty()) {
    TORCH_CHECK_VALUE(
        rows % ranks == 0, "occl: all_to_all_single: argument '", argument, "' has ", rows,
        " rows; expected a multiple of ", ranks, ", or split sizes");
    sizes.assign(static_cast<size_t>(ranks), rows / ranks);
  }
  TORCH_CHECK_VALUE(
      static_cast<int>(sizes.size()) == ranks && std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == rows,
      "occl: all_to_all_single: the split sizes of argument '", argument, "' are ", sizes, "; expected ", ranks,
      " numbers with the sum ", rows);
  const auto width = rows == 0 ? int64_t{0} : byteCount(tensor) / rows;
  for (auto& size : sizes) {
    size *= width;
  }
  return sizes;
}

// Host memory for all of `tensors`, one behind the other, and how many bytes each has.
std::pair<at::Tensor, std::vector<int64_t>>
onePiece(const std::vector<at::Tensor>& tensors, Operation::Copies& copies) {
  std::vector<int64_t> bytes;
  bytes.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    bytes.push_back(byteCount(tensor));
  }
  const auto host = pinned({std::accumulate(bytes.begin(), bytes.end(), int64_t{0})}, at::kByte);
  int64_t at = 0;
  for (const auto& tensor : tensors) {
    const auto part = host.narrow(0, at, byteCount(tensor));
    copies.emplace_back(tensor, part.view(tensor.scalar_type()).view(tensor.sizes()));
    at += byteCount(tensor);
  }
  return {host, bytes};
}

// What both send and get as bytes, by the sizes that they have announced.
Exchange exchangeBytes(
    const at::Tensor& from, const at::Tensor& to, const Announcement& announcement, const c10d::AllToAllOptions& opts) {
  return {announcement, with({from, to}, [opts, announcement](auto& transport, auto& list) {
            auto sends = announcement.sends;
            auto expects = announcement.expects;
            return transport.alltoall_base(list[1], list[0], expects, sends, opts);
          })};
}

} // namespace

c10::intrusive_ptr<c10d::Work> ProcessGroup::alltoall_base(
    at::Tensor& output,
    at::Tensor& input,
    std::vector<int64_t>& outputSplitSizes,
    std::vector<int64_t>& inputSplitSizes,
    const c10d::AllToAllOptions& opts) {
  const auto it = operation(c10d::OpType::ALLTOALL_BASE, input.device());
  auto announcement = announce(c10d::OpType::ALLTOALL_BASE, 0, 0);
  announcement.sends = splitBytes(input, inputSplitSizes, getSize(), "input");
  announcement.expects = splitBytes(output, outputSplitSizes, getSize(), "output");
  const auto from = bytesOf(it->in(input));
  const auto to = bytesOf(it->out(output));
  return add(it, exchangeBytes(from, to, announcement, opts));
}

// Gloo's own wants tensors of one size; its alltoall_base does not, but wants them in one piece.
c10::intrusive_ptr<c10d::Work> ProcessGroup::alltoall(
    std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs, const c10d::AllToAllOptions& opts) {
  checkCount({inputs}, getSize(), c10d::OpType::ALLTOALL);
  checkCount({outputs}, getSize(), c10d::OpType::ALLTOALL);
  const auto it = operation(c10d::OpType::ALLTOALL, inputs[0].device());
  auto announcement = announce(c10d::OpType::ALLTOALL, 0, 0);
  at::Tensor from;
  at::Tensor to;
  std::tie(from, announcement.sends) = onePiece(inputs, it->toHost);
  std::tie(to, announcement.expects) = onePiece(outputs, it->toDevice);
  it->outputs.insert(it->outputs.end(), outputs.begin(), outputs.end());
  return add(it, exchangeBytes(from, to, announcement, opts));
}

} // namespace openreg
