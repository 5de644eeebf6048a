// A new tensor of this backend, without a trip through the dispatcher.
#include "ops/tensor/new_tensor.h"

#include "memory/allocator.h"

#include <ATen/EmptyTensor.h>

namespace openreg {

// LITERALINCLUDE START: NEW TENSOR
namespace {
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
}

at::Tensor newTensor(at::IntArrayRef sizes, at::ScalarType type, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, allocator(), kKeys, type, format);
}

at::Tensor newTensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  return at::detail::empty_strided_generic(sizes, strides, allocator(), kKeys, type);
}
// LITERALINCLUDE END: NEW TENSOR

} // namespace openreg
