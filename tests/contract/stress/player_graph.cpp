// The stress program's additions: launched one by one, or as a graph.
#include <algorithm>
#include <array>
#include <cstddef>

#include "check.h"
#include "kernels/launch/pointers.h"
#include "kernels/pointwise/add.h"
#include "player.h"

namespace stress {

namespace k = openreg::kernels;

namespace {
/// Arguments of out += alpha * other.
struct AddCall {
  AddCall(int64_t* out, int64_t* other, size_t elements, int64_t alpha)
      : args{out, out, other, static_cast<int64_t>(elements), k::ElementType::Int64, 0.0, alpha} {
    const uint64_t bytes = elements * sizeof(int64_t);
    pointers = {
        k::contiguousPointer(offsetof(k::AddArgs, out), orAccessWrite, bytes),
        k::contiguousPointer(offsetof(k::AddArgs, a), orAccessRead, bytes),
        k::contiguousPointer(offsetof(k::AddArgs, b), orAccessRead, bytes)};
  }

  orError_t launch(orKernel_t add, orStream_t stream) const {
    return orLaunchKernel(add, &args, sizeof(args), pointers.data(), pointers.size(), stream);
  }

  k::AddArgs args;
  std::array<orPointerArg, 3> pointers;
};
} // namespace

void Player::add() {
  Array& out = *pick();
  Array* other = pickLike(out, true);
  if (other == nullptr) {
    other = &out;
  }
  const orStream_t stream = pickStream(out.device);
  moveTo(out, stream);
  moveTo(*other, stream);
  const int64_t alpha = random(100) - 50;
  const AddCall call(out.data, other->data, std::min(out.model.size(), other->model.size()), alpha);
  CHECK(call.launch(shared_.devices[static_cast<size_t>(out.device)].add, stream));
  modelAdd(out, *other, alpha);
  ++counts_.launches;
}

void Player::modelAdd(Array& out, const Array& other, int64_t alpha) {
  for (size_t i = 0; i < std::min(out.model.size(), other.model.size()); ++i) {
    const auto sum =
        static_cast<uint64_t>(out.model[i]) + static_cast<uint64_t>(alpha) * static_cast<uint64_t>(other.model[i]);
    out.model[i] = static_cast<int64_t>(sum);
  }
}

/// Captures an addition and a function of the host, and launches both several times, with other arguments each time.
void Player::replay() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  orStream_t recorder = nullptr;
  orGraph_t graph = nullptr;
  orGraphExec_t exec = nullptr;
  CHECK(orSetDevice(array.device));
  CHECK(orStreamCreate(&recorder));
  CHECK(orStreamBeginCapture(recorder, orStreamCaptureModeThreadLocal)); // Others allocate meanwhile.
  CHECK(AddCall(array.data, array.data, array.model.size(), 1)
            .launch(shared_.devices[static_cast<size_t>(array.device)].add, recorder));
  CHECK(orLaunchHostFunc(recorder, &count, &called_));
  CHECK(orStreamEndCapture(recorder, &graph));
  CHECK(orStreamDestroy(recorder));
  CHECK(orGraphInstantiate(&exec, graph));
  CHECK(orGraphDestroy(graph));
  for (int64_t i = random(5); i >= 0; --i) {
    const int64_t alpha = random(100) - 50;
    const AddCall call(array.data, array.data, array.model.size(), alpha);
    CHECK(orGraphExecKernelNodeSetParams(
        exec, 0, &call.args, sizeof(call.args), call.pointers.data(), call.pointers.size()));
    CHECK(orGraphLaunch(exec, array.stream));
    modelAdd(array, array, alpha);
    ++toBeCalled_;
    ++counts_.graphs;
  }
  CHECK(orGraphExecDestroy(exec));
}

} // namespace stress
