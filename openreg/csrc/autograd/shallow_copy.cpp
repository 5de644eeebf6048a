// `parameter.data = tensor`, also from one device to another: how Module.to() moves a model.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: SHALLOW COPY
/// Whether the fields of `from` may be copied into `self`, so that `self` stays the object it is.
///
/// PyTorch's own answer lists the backends of its tree and says no to all others (c10/core/TensorImpl.h). Dense tensors
/// of the CPU and of this backend are objects of one class, c10::TensorImpl, so there is nothing that a copy could
/// miss.
bool hasCompatibleShallowCopyType(const at::Tensor& self, const at::Tensor& from) {
  const auto isPlain = [](c10::DispatchKeySet keys) {
    constexpr c10::DispatchKeySet kDense(c10::DispatchKey::Dense);
    constexpr c10::DispatchKeySet kBackends({c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
    return keys.has_any(kDense) && keys.has_any(kBackends);
  };
  return (isPlain(self.key_set()) && isPlain(from.key_set())) ||
         self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set());
}

// Reached when either tensor is ours; two tensors of the CPU are PyTorch's business still.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", hasCompatibleShallowCopyType);
}

// For tensors of inference mode, which have no autograd key.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", hasCompatibleShallowCopyType);
}
// LITERALINCLUDE END: SHALLOW COPY

} // namespace
} // namespace openreg
