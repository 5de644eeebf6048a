// Matrix products on the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace openreg {

/**
 * @brief Queues out = beta · out + alpha · a × b on the current stream of the tensors' device. Does not block.
 *
 * Any strides. Half precision is multiplied and summed in float.
 * @param out Matrix, or batch of matrices (then `a` and `b` are, too), of the sizes of the product.
 * @param beta If 0, `out` is not read.
 * @throws c10::Error if `a` and `b` differ in type; c10::NotImplementedError if the device cannot multiply the type.
 */
void multiplyMatrices(
    const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const c10::Scalar& beta, const c10::Scalar& alpha);

} // namespace openreg
