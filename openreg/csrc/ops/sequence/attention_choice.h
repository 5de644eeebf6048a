// When attention is one kernel, and when PyTorch's math path.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace openreg {

/**
 * @brief Whether the kernels compute this; the rest, errors included, is PyTorch's own function's.
 * @param sharesKeys Whether there may be fewer heads of keys than of queries.
 */
bool fitsAttention(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& mask,
    double dropout,
    bool causal,
    bool sharesKeys);

} // namespace openreg
