// A storage of our own: memory that knows what it is for.
#include "storage/storage_impl.h"

#include "device/device.h"
#include "device/device_name.h"
#include "memory/allocator.h"

#include <c10/util/Exception.h>

#include <utility>

namespace openreg {

// LITERALINCLUDE START: SET LABEL
void StorageImpl::setLabel(Label* label) noexcept {
  if (label_ == nullptr && label == nullptr) {
    return; // as most storages are made and die
  }
  count(label_, -counted_);
  label_ = label;
  counted_ = label == nullptr ? 0 : static_cast<int64_t>(nbytes());
  count(label_, counted_);
}

void StorageImpl::release_resources() {
  setLabel(nullptr);
  c10::StorageImpl::release_resources();
}
// LITERALINCLUDE END: SET LABEL

// LITERALINCLUDE START: STORAGE FACTORY
namespace {
c10::intrusive_ptr<c10::StorageImpl> makeStorage(
    c10::StorageImpl::use_byte_size_t bySize,
    c10::SymInt size,
    c10::DataPtr data,
    c10::Allocator* allocator,
    bool resizable) {
  if (!data) { // PyTorch leaves the allocation to us
    data = allocator->allocate(static_cast<size_t>(size.guard_int(__FILE__, __LINE__)));
  }
  const auto device = data.device().index();
  auto storage = c10::make_intrusive<StorageImpl>(bySize, std::move(size), std::move(data), allocator, resizable);
  storage->setLabel(currentLabel(device));
  return storage;
}

// PyTorch accepts one function in a process, and calls it for torch.UntypedStorage, and so for what is loaded.
[[maybe_unused]] const bool storageRegistered = [] {
  c10::SetStorageImplCreate(kDeviceType, makeStorage);
  return true;
}();
} // namespace

c10::intrusive_ptr<c10::StorageImpl> newStorage(size_t bytes) {
  return makeStorage({}, static_cast<int64_t>(bytes), {}, allocator(), /*resizable=*/true);
}
// LITERALINCLUDE END: STORAGE FACTORY

// LITERALINCLUDE START: OWN STORAGE
StorageImpl* ownStorage(const c10::Storage& storage) {
  return dynamic_cast<StorageImpl*>(storage.unsafeGetStorageImpl());
}

std::string labelOf(const at::Tensor& tensor) {
  const auto* storage = tensor.has_storage() ? ownStorage(tensor.storage()) : nullptr;
  return storage != nullptr && storage->label() != nullptr ? storage->label()->name : "";
}

void setLabelOf(const at::Tensor& tensor, const std::string& name) {
  auto* storage = tensor.has_storage() ? ownStorage(tensor.storage()) : nullptr;
  TORCH_CHECK(
      storage != nullptr, "set_memory_label: argument 'tensor' has memory that this backend has not made, on ",
      tensor.device(), "; expected a tensor that was made on an ", kDeviceName, " device");
  storage->setLabel(findLabel(name, storage->device().index()));
}
// LITERALINCLUDE END: OWN STORAGE

} // namespace openreg
