// Launching softmax kernels.
#pragma once

#include "ops/launch/kernel_family.h"

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Queues a softmax, or the derivative of one, on the current stream of its device. Does not block.
 * @param family Kernels of the operator.
 * @param out Receives the result; of the sizes of `input`.
 * @param input What the softmax is taken of; of a derivative, the softmax itself.
 * @param grad Gradient of the softmax; undefined in the forward direction.
 * @param dim Dimension along which results add up to 1.
 * @throws c10::NotImplementedError if the operator does not have the type.
 */
void launchSoftmax(
    const KernelFamily& family, const at::Tensor& out, const at::Tensor& input, const at::Tensor& grad, int64_t dim);

} // namespace openreg
