// What multi_margin_loss and multilabel_margin_loss have in common: one target for each row, or several.
#pragma once

#include "ops/structured/structured_output.h"

#include <kernels/loss/margin_loss.h>

#include <ATen/core/Tensor.h>

#include <optional>

namespace openreg {

/** @brief The sizes of a batch, or of a single row. @throws c10::Error as the CPU does if they do not fit. */
kernels::MarginLossArgs describeMarginLoss(const at::Tensor& input, const at::Tensor& target, bool multilabel);

/**
 * @brief The losses of all rows, or what is made of them; of a single row, a number.
 * @param args Of describeMarginLoss().
 * @param isTarget Written: which classes are targets. May be undefined.
 */
at::Tensor marginLoss(
    const kernels::MarginLossArgs& args,
    const at::Tensor& input,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    const at::Tensor& isTarget = {});

/** @brief The gradient of the input. */
at::Tensor marginLossBackward(
    const kernels::MarginLossArgs& args,
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction);

} // namespace openreg
