// A new tensor of this backend, without a trip through the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/macros/Export.h>

#include <optional>

namespace openreg {

/**
 * @brief A tensor on the current device, whose numbers aren't set. Does not block.
 * @param format In which order the elements lie; contiguous if left out.
 * @throws c10::Error if a size is negative. @throws c10::OutOfMemoryError
 */
C10_EXPORT at::Tensor
newTensor(at::IntArrayRef sizes, at::ScalarType type, std::optional<at::MemoryFormat> format = std::nullopt);

/** @brief The same with strides, counted in elements. @throws c10::Error if there is not one for each size. */
C10_EXPORT at::Tensor newTensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);

} // namespace openreg
