// A new tensor of this backend, without a trip through the dispatcher.
#include "ops/tensor/new_tensor.h"

#include "storage/storage_impl.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>

namespace openreg {

// LITERALINCLUDE START: NEW TENSOR
namespace {
at::Tensor tensorOf(size_t bytes, at::ScalarType type) {
  if (type == at::kComplexHalf) {
    TORCH_WARN_ONCE("ComplexHalf support is experimental and many operators don't support it yet.");
  }
  constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
  return at::detail::make_tensor<c10::TensorImpl>(newStorage(bytes), kKeys, c10::scalarTypeToTypeMeta(type));
}
} // namespace

// What at::detail::empty_generic does, but for the storage: it makes a plain one, and never asks for ours (2.13).
at::Tensor newTensor(at::IntArrayRef sizes, at::ScalarType type, std::optional<at::MemoryFormat> format) {
  at::detail::check_size_nonnegative(sizes);
  auto made = tensorOf(at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type)), type);
  auto* impl = made.unsafeGetTensorImpl();
  if (sizes.size() != 1 || sizes[0] != 0) { // what a tensor is born with
    impl->set_sizes_contiguous(sizes);
  }
  if (format.has_value() && *format != at::MemoryFormat::Contiguous) {
    impl->empty_tensor_restride(*format);
  }
  return made;
}

at::Tensor newTensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  at::detail::check_size_nonnegative(sizes);
  auto made = tensorOf(at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(type)), type);
  made.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return made;
}
// LITERALINCLUDE END: NEW TENSOR

} // namespace openreg
