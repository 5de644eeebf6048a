// Waiting until the autograd engine's threads have nothing left to do.
#include "autograd/idle.h"

#include "device/hooks.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: WAIT FOR IDLE ENGINE
// A node of a graph that computes nothing. The engine runs it in the thread of the device that its input is on.
struct Marker final : torch::autograd::Node {
  explicit Marker(const at::Tensor& input) { add_input_metadata(input); }
  torch::autograd::variable_list apply(torch::autograd::variable_list&& /*inputs*/) override { return {}; }
};

// A tensor without elements, made by hand: the allocator would ask the device, which may have failed or be held up.
at::Tensor nothingOn(c10::DeviceIndex device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, {kDeviceType, device}));
  return at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>());
}

} // namespace

void waitForIdleEngine() {
  if (!engineHasRun() || inBadFork()) {
    return; // There are no threads, or only the parent's, and a process that ends should not start any.
  }
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
    // Each thread does one thing after the other: when the marker has its turn, all before it is over.
    const auto input = nothingOn(device);
    torch::autograd::Engine::get_default_engine().execute(
        {{c10::make_intrusive<Marker>(input), 0}}, {input}, /*keep_graph=*/false, /*create_graph=*/false,
        /*accumulate_grad=*/true);
  }
}
// LITERALINCLUDE END: WAIT FOR IDLE ENGINE

} // namespace openreg
