// PyTorch's types of elements as device code knows them.
#pragma once

#include <kernels/launch/dtype.h>

#include <c10/core/ScalarType.h>
#include <c10/macros/Export.h>

#include <optional>

namespace openreg {

// LITERALINCLUDE START: DTYPE
/** @brief The type as device code knows it, or none: quantised and bit types, eight-bit floating point. */
C10_EXPORT std::optional<kernels::DType> findKernelDType(c10::ScalarType type);

/**
 * @brief The type as device code knows it.
 * @param type Of an operand.
 * @param op Operator, for the message.
 * @throws MissingKernel if device code has no such type.
 */
C10_EXPORT kernels::DType kernelDType(c10::ScalarType type, const char* op);
// LITERALINCLUDE END: DTYPE

} // namespace openreg
