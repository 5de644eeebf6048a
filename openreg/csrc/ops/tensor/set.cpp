// set_: gives a tensor another storage. torch.load, Tensor.data and the sharing of parameters end here.
#include "ops/tensor/new_tensor.h"
#include "ops/tensor/resize.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: SET
// at::native::set_storage_cpu_ does the same, but grows a short storage with the host's memcpy.
at::Tensor&
setStorage(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), offset, size, stride);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  const auto itemsize = self.dtype().itemsize();
  size_t bytes = 0;
  if (stride.data() != nullptr) {
    bytes = at::detail::computeStorageNbytes(size, stride, itemsize, static_cast<size_t>(offset));
    impl->set_sizes_and_strides(size, stride);
  } else {
    bytes = at::detail::computeStorageNbytesContiguous(size, itemsize, static_cast<size_t>(offset));
    impl->set_sizes_contiguous(size);
  }
  if (impl->numel() > 0 && bytes > self.storage().nbytes()) {
    resizeStorage(self.storage(), bytes);
  }
  return self;
}

at::Tensor& setWholeStorage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return setStorage(self, std::move(source), 0, {count}, {});
}

at::Tensor& setEmpty(at::Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  return setStorage(self, newTensor({0}, self.scalar_type()).storage(), 0, {0}, {});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("set_.source_Storage_storage_offset", setStorage);
  m.impl("set_.source_Storage", setWholeStorage);
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("set_", setEmpty);
  // The fallback would ask it of two copies, which never share a storage.
  m.impl("is_set_to", at::native::is_set_to);
}
// LITERALINCLUDE END: SET

} // namespace
} // namespace openreg
