// A storage of our own: memory that knows what it is for.
#pragma once

#include "storage/label.h"

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/macros/Export.h>

#include <string>

namespace openreg {

// LITERALINCLUDE START: STORAGE IMPL
/**
 * @brief The memory of a tensor and of all its views, with a label under which its bytes are counted.
 *
 * PyTorch has no lock for a storage's size, and this class has none for its label: whoever sets a label while another
 * thread uses the storage has to order the two.
 */
class StorageImpl final : public c10::StorageImpl {
 public:
  using c10::StorageImpl::StorageImpl;
  ~StorageImpl() override { setLabel(nullptr); }

  /** @brief The label; null for none. */
  Label* label() const { return label_; }
  /** @brief Counts the storage under another label from now on. Null: under none. */
  void setLabel(Label* label) noexcept;
  /** @brief Counts the size that the storage has now. For whoever changes it. */
  void recount() noexcept { setLabel(label_); }

  /** @brief The memory is gone with the last strong reference, while weak ones may keep the object. */
  void release_resources() override;

 private:
  Label* label_ = nullptr;
  int64_t counted_ = 0;
};
// LITERALINCLUDE END: STORAGE IMPL

// LITERALINCLUDE START: OWN STORAGE FUNCTIONS
/** @brief The storage as ours. Null for memory that comes from elsewhere, such as DLPack. */
StorageImpl* ownStorage(const c10::Storage& storage);

/** @brief A storage of `bytes` on the current device, counted under the calling thread's label. */
c10::intrusive_ptr<c10::StorageImpl> newStorage(size_t bytes);

/** @brief The label of a tensor's memory; empty for none. */
C10_EXPORT std::string labelOf(const at::Tensor& tensor);

/**
 * @brief Sets the label of a tensor's memory, and so of all its views. @param name Empty: none.
 * @throws c10::Error if the memory comes from elsewhere.
 */
C10_EXPORT void setLabelOf(const at::Tensor& tensor, const std::string& name);
// LITERALINCLUDE END: OWN STORAGE FUNCTIONS

} // namespace openreg
