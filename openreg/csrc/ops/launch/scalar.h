// Numbers from PyTorch into the arguments of kernels.
#pragma once

#include <kernels/launch/dtype.h>

#include <c10/core/Scalar.h>

namespace openreg {

/**
 * @brief Writes a number as device code computes with it.
 * @param to Receives up to 16 bytes.
 * @param value Number.
 * @param dtype Type of the elements that it meets: its compute type is what is written.
 * @return Bytes written.
 * @throws c10::Error if the type cannot hold the number.
 */
size_t putScalar(unsigned char* to, const c10::Scalar& value, kernels::DType dtype);

} // namespace openreg
