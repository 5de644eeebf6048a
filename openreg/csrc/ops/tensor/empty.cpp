// Making tensors. Every factory function of PyTorch ends in one of these two operators.
#include "device/device_name.h"
#include "ops/tensor/deterministic.h"
#include "ops/tensor/new_tensor.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: EMPTY
void checkOptions(const char* name, std::optional<at::Layout> layout, std::optional<bool> pinMemory) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::layout_or_default(layout) == at::kStrided, name, ": argument 'layout' is ", *layout, "; ", kDeviceName,
      " has strided tensors only");
  TORCH_CHECK(!c10::pinned_memory_or_default(pinMemory), name, ": only dense CPU tensors can be pinned");
}

at::Tensor filled(at::Tensor tensor) {
  if (fillsUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pinMemory,
    std::optional<at::MemoryFormat> memoryFormat) {
  checkOptions("empty", layout, pinMemory);
  const c10::OptionalDeviceGuard guard(device); // the allocator allocates on the current device
  return filled(newTensor(size, c10::dtype_or_default(dtype), memoryFormat));
}
// LITERALINCLUDE END: EMPTY

// LITERALINCLUDE START: EMPTY STRIDED
at::Tensor emptyStrided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pinMemory) {
  checkOptions("empty_strided", layout, pinMemory);
  const c10::OptionalDeviceGuard guard(device);
  return filled(newTensor(size, stride, c10::dtype_or_default(dtype)));
}
// LITERALINCLUDE END: EMPTY STRIDED

// LITERALINCLUDE START: REGISTER EMPTY
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", emptyStrided);
}
// LITERALINCLUDE END: REGISTER EMPTY

} // namespace
} // namespace openreg
