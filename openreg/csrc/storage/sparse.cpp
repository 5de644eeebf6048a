// Sparse tensors as containers: made, moved, saved, loaded. Their parts are strided tensors of the device.
#include "device/device.h"

#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/ccol_indices_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/col_indices_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/crow_indices_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/row_indices_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/values_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <optional>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: SPARSE DEVICE
void find(std::optional<at::Device>& found, const at::Tensor& argument) {
  if (!found && argument.device().type() == kDeviceType) {
    found = argument.device();
  }
}
void find(std::optional<at::Device>& found, std::optional<at::Device> option) {
  found = found ? found : option;
}
template <class T>
void find(std::optional<at::Device>& /*found*/, const T& /*argument*/) {}

/// A function, called with the device current that its tensors or its options name: a sparse tensor makes its parts on
/// the current one.
template <auto function>
struct OnDevice;

template <class R, class... A, R (*function)(A...)>
struct OnDevice<function> {
  static R call(A... arguments) {
    std::optional<at::Device> device;
    (find(device, arguments), ...);
    const c10::OptionalDeviceGuard guard(device);
    return function(std::forward<A>(arguments)...);
  }
};
// LITERALINCLUDE END: SPARSE DEVICE

// LITERALINCLUDE START: SPARSE
// PyTorch's own functions, which look at a tensor's parts and not at its numbers. The fallback is no help: it is
// registered for PrivateUse1, and a sparse tensor has another key.
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
  m.impl("empty.memory_format", OnDevice<at::native::empty_sparse_symint>::call);
  m.impl("_sparse_coo_tensor_with_dims", OnDevice<at::native::new_with_dims_sparse>::call);
  m.impl(
      "_sparse_coo_tensor_with_dims_and_tensors", OnDevice<at::native::new_with_dims_and_tensor_sparse_symint>::call);
  m.impl("_nnz", at::native::_nnz_sparse);
  m.impl("_indices", at::native::_indices_sparse);
  m.impl("_values", at::native::_values_sparse);
  m.impl("indices", at::native::indices_sparse);
  m.impl("values", at::native::values_sparse);
  m.impl("sparse_dim", at::native::sparse_dim_sparse);
  m.impl("dense_dim", at::native::dense_dim_sparse);
  m.impl("is_coalesced", at::native::is_coalesced_sparse);
  m.impl("_coalesced_", at::native::_coalesced_sparse_);
  m.impl("clone", OnDevice<at::native::clone_sparse>::call);
  m.impl("copy_", OnDevice<at::native::copy_sparse_wrapper_>::call);
  m.impl("copy_sparse_to_sparse_", OnDevice<at::native::copy_sparse_>::call);
}

TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {
  m.impl("empty.memory_format", OnDevice<at::native::empty_sparse_compressed_symint>::call);
  m.impl("_nnz", at::native::_nnz_sparse_csr);
  m.impl("values", at::native::values_sparse_csr);
  m.impl("crow_indices", at::native::crow_indices_sparse_csr);
  m.impl("col_indices", at::native::col_indices_sparse_csr);
  m.impl("ccol_indices", at::native::ccol_indices_sparse_csr);
  m.impl("row_indices", at::native::row_indices_sparse_csr);
  m.impl("sparse_dim", at::native::sparse_dim_sparse_csr);
  m.impl("dense_dim", at::native::dense_dim_sparse_csr);
  m.impl("clone", OnDevice<at::native::clone_sparse_compressed>::call);
  m.impl("copy_", OnDevice<at::native::copy_sparse_compressed_>::call);
}
// LITERALINCLUDE END: SPARSE

} // namespace
} // namespace openreg
