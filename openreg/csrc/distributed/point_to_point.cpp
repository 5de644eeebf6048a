// From one rank to another: send and receive.
#include "distributed/collective.h"

namespace openreg {

namespace {

// Gloo's tags are all numbers from 0; the announcement of a message has one of its own.
void checkTag(int tag, c10d::OpType type) {
  constexpr int kMost = (1 << 30) - 1;
  TORCH_CHECK_VALUE(
      tag >= 0 && tag <= kMost, "occl: ", nameOf(type), ": argument 'tag' is ", tag, "; expected 0 to ", kMost);
}

} // namespace

// LITERALINCLUDE START: SEND
c10::intrusive_ptr<c10d::Work> ProcessGroup::send(std::vector<at::Tensor>& tensors, int destination, int tag) {
  const auto& tensor = single(tensors, c10d::OpType::SEND);
  checkTag(tag, c10d::OpType::SEND);
  const auto it = operation(c10d::OpType::SEND, tensor.device(), 1 + 2 * int64_t{destination});
  auto announcement = announce(c10d::OpType::SEND, 0, 0);
  announcement.sends.at(static_cast<size_t>(destination)) = byteCount(tensor);
  it->outputs.push_back(tensor);
  const auto start = with({bytesOf(it->in(tensor))}, [destination, tag](auto& transport, auto& list) {
    return transport.send(list, destination, 2 * tag + 1);
  });
  return add(it, {announcement, start, destination, tag});
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::recv(std::vector<at::Tensor>& tensors, int source, int tag) {
  const auto& tensor = single(tensors, c10d::OpType::RECV);
  checkTag(tag, c10d::OpType::RECV);
  const auto it = operation(c10d::OpType::RECV, tensor.device(), 2 + 2 * int64_t{source});
  auto announcement = announce(c10d::OpType::RECV, 0, 0);
  announcement.expects.at(static_cast<size_t>(source)) = byteCount(tensor);
  const auto start = with({bytesOf(it->out(tensor))}, [source, tag](auto& transport, auto& list) {
    return transport.recv(list, source, 2 * tag + 1);
  });
  return add(it, {announcement, start, source, tag});
}
// LITERALINCLUDE END: SEND

} // namespace openreg
