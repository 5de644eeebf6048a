// Tensors to the host and back, whatever their strides: dense bytes travel, and either end does the rest.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief An uninitialised tensor without gaps, of the sizes and the conjugate and negative bits of `like`.
 * @param like Its strides are kept if it is dense itself; otherwise the order of its dimensions is.
 * @param options Type, device, and whether host memory is to be pinned.
 */
at::Tensor emptyDense(const at::Tensor& like, const at::TensorOptions& options);

/**
 * @brief A CPU tensor with the sizes, strides, type, values and conjugate and negative bits of `self`.
 *
 * Blocks until the work on the current stream of its device, and the copy, are done.
 * @param self Tensor of this backend. Only the bytes from its first to its last element travel.
 */
at::Tensor toHost(const at::Tensor& self);

/**
 * @brief Copies a tensor of this backend into a CPU tensor: any types, any strides.
 *
 * Blocks until the work on the current stream of its device, and the copy, are done.
 * @param src Tensor of this backend.
 * @param dst CPU tensor to whose sizes `src` can be expanded.
 */
void intoHost(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Copies a CPU tensor into a tensor with gaps on a device that has no kernel for it: one copy for each run of
 *        elements that lie together. What lies between them is neither read nor written.
 *
 * Blocks until the work on the current stream of the device, and the copies, are done.
 * @param src CPU tensor of the sizes, type and bits of `dst`.
 * @param dst Tensor of this backend that does not overlap itself.
 */
void copyRuns(const at::Tensor& src, const at::Tensor& dst);

} // namespace openreg
