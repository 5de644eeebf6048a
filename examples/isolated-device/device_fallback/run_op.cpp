// The kernel "run_op": an operator by name, computed by a device that knows them all.
#include "run_op.h"

#include "ops/launch/kernel.h"

#include <kernels/launch/pointers.h>

#include <c10/util/Exception.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace openreg {
namespace {

// LITERALINCLUDE START: RUN OP LAUNCH
/// What the arguments of a launch of "run_op" start with; pointer and size of each storage follow, then text.
struct Head {
  void* reply;
  uint64_t room; ///< Bytes for the reply.
  uint64_t number;
  Mode mode;
  uint32_t storages;
};

struct Memory {
  void* pointer;
  uint64_t bytes;
};

/// The arguments of a launch.
struct Arguments {
  alignas(16) std::array<char, OPENREG_MAX_ARGUMENT_BYTES> bytes;
};

} // namespace

bool hasRunOp(c10::DeviceIndex device) {
  return kernel<"run_op">.find(device) != nullptr;
}

void launchRunOp(
    const c10::OperatorName& op, const CallWriter& call, Mode mode, uint64_t number, const at::Tensor& reply) {
  const auto& storages = call.storages();
  const size_t textAt = sizeof(Head) + storages.size() * sizeof(Memory);
  const size_t size = textAt + call.bytes().size();
  TORCH_CHECK_NOT_IMPLEMENTED(
      size <= OPENREG_MAX_ARGUMENT_BYTES && storages.size() < OPENREG_MAX_POINTER_ARGS, "openreg: the call of '", op,
      "' takes ", size, " bytes and ", storages.size() + 1,
      " pointers to describe to the device; a launch has room for ", OPENREG_MAX_ARGUMENT_BYTES, " and ",
      OPENREG_MAX_POINTER_ARGS);
  Arguments args;
  std::vector<orPointerArg> pointers;
  const Head head{reply.mutable_data_ptr(), reply.nbytes(), number, mode, static_cast<uint32_t>(storages.size())};
  std::memcpy(args.bytes.data(), &head, sizeof(head));
  pointers.push_back(kernels::contiguousPointer(offsetof(Head, reply), orAccessWrite, head.room));
  for (size_t i = 0; i < storages.size(); ++i) {
    const Memory memory{const_cast<void*>(storages[i].data()), storages[i].nbytes()};
    const size_t at = sizeof(Head) + i * sizeof(Memory);
    std::memcpy(args.bytes.data() + at, &memory, sizeof(memory));
    pointers.push_back(kernels::contiguousPointer(at, orAccessRead | orAccessWrite, memory.bytes));
  }
  std::memcpy(args.bytes.data() + textAt, call.bytes().data(), call.bytes().size());
  launch(kernel<"run_op">, reply.device().index(), args, pointers, size);
}

void checkReply(const c10::OperatorName& op, c10::Device device, ReplyReader& reply) {
  if (reply.number() == 0) {
    return;
  }
  const auto type = reply.text();
  const auto said = c10::str("openreg: '", op, "' failed on ", device, ": ", reply.text());
  TORCH_CHECK_INDEX(type != "IndexError", said);
  TORCH_CHECK_VALUE(type != "ValueError", said);
  TORCH_CHECK_TYPE(type != "TypeError", said);
  TORCH_CHECK_NOT_IMPLEMENTED(type != "NotImplementedError", said);
  TORCH_CHECK_LINALG(type != "_LinAlgError", said);
  TORCH_CHECK(false, said);
}
// LITERALINCLUDE END: RUN OP LAUNCH

} // namespace openreg
