// What a tensor says about its numbers, beside its type and shape.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/macros/Export.h>

#include <map>
#include <optional>
#include <string>

namespace openreg {

// LITERALINCLUDE START: METADATA
/**
 * @brief Hangs on a tensor: the scale of its numbers, and what others have put into its file.
 *
 * It is never changed, only replaced. So tensors may share it, which is what BackendMeta::clone() does unless it is
 * overridden.
 */
struct Metadata final : c10::BackendMeta {
  std::optional<double> scale; ///< What one step of an integer stands for.
  std::map<std::string, bool> others;
};

/** @brief The scale of a tensor of this backend, if it has one. */
C10_EXPORT std::optional<double> scaleOf(const at::Tensor& tensor);

/** @brief Sets or removes the scale. @throws c10::ValueError if it is not a positive number. */
C10_EXPORT void setScaleOf(const at::Tensor& tensor, std::optional<double> scale);
// LITERALINCLUDE END: METADATA

} // namespace openreg
