// What nll_loss and nll_loss2d have in common.
#pragma once

#include "ops/launch/kernel_family.h"

#include <ATen/core/Tensor.h>

namespace openreg {

/** @throws c10::Error if a target has not a type of PyTorch's. */
void checkNllTarget(const at::Tensor& target);

/**
 * @brief Queues nll_loss, or its derivative, on the current stream of its device. Does not block.
 * @param family kernelFamily<"nll_loss"> or its backward.
 * @param input Forward the log-probabilities, backward their gradient: images × classes × pixels, guesses × classes, or
 *     classes.
 * @param target Of each pixel or guess the class; of at most one dimension.
 * @param loss Forward written, backward its gradient; of one dimension if there is one for each guess.
 * @param totalWeight Forward written, backward read.
 */
void launchNllLoss(
    const KernelFamily& family,
    const at::Tensor& input,
    const at::Tensor& target,
    const at::OptionalTensorRef& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    const at::Tensor& loss,
    const at::Tensor& totalWeight);

} // namespace openreg
