// resize_, and the storage growth that set_ and the hooks share with it.
#include "ops/tensor/resize.h"

#include "memory/allocator.h"
#include "ops/tensor/deterministic.h"
#include "storage/storage_impl.h"
#include "stream/current_stream.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/ResizeCommon.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>

namespace openreg {

// LITERALINCLUDE START: RESIZE STORAGE
void resizeStorage(const c10::Storage& storage, size_t size) {
  auto* impl = storage.unsafeGetStorageImpl();
  TORCH_CHECK(impl->resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(storage.device());
  auto data = allocator()->allocate(size);
  if (const auto kept = std::min(size, storage.nbytes())) {
    // The copy is only queued, perhaps on another stream than the one that the old memory belongs to.
    recordStream(storage.data_ptr(), currentStream(storage.device().index()));
    allocator()->copy_data(data.get(), storage.data(), kept);
  }
  // Nothing can throw from here on. The old memory goes when the old pointer does.
  impl->set_data_ptr_noswap(std::move(data));
  impl->set_nbytes(size);
  // LITERALINCLUDE START: RESIZE LABEL
  if (auto* own = ownStorage(storage)) {
    own->recount();
  }
  // LITERALINCLUDE END: RESIZE LABEL
}
// LITERALINCLUDE END: RESIZE STORAGE

namespace {

// LITERALINCLUDE START: RESIZE
const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> memoryFormat) {
  auto* impl = self.unsafeGetTensorImpl();
  const auto oldBytes = self.storage().nbytes();
  if (impl->sizes() != size) {
    const auto bytes = at::detail::computeStorageNbytesContiguous(
        size, self.dtype().itemsize(), static_cast<size_t>(self.storage_offset()));
    // A tensor of no elements needs no memory, wherever its offset points to.
    if (c10::multiply_integers(size) > 0 && bytes > oldBytes) {
      resizeStorage(self.storage(), bytes);
    }
    impl->set_sizes_contiguous(size);
  }
  if (memoryFormat.has_value()) {
    TORCH_CHECK(
        *memoryFormat != at::MemoryFormat::Preserve, "resize_: argument 'memory_format' is ", *memoryFormat,
        "; expected a format that does not depend on the tensor's strides");
    impl->empty_tensor_restride(*memoryFormat);
  }
  if (fillsUninitializedMemory()) {
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(oldBytes));
  }
  return self;
}
// LITERALINCLUDE END: RESIZE

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", resize_);
}

} // namespace
} // namespace openreg
