// Tensors to the host and back, whatever their strides: the bytes travel, and the CPU does the rest.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief A CPU tensor with the sizes, strides, type, values and conjugate and negative bits of `self`.
 *
 * Blocks until the work on the current stream of its device, and the copy, are done.
 * @param self Tensor of this backend. Only the bytes from its first to its last element travel.
 */
at::Tensor toHost(const at::Tensor& self);

/**
 * @brief Copies a CPU tensor into a tensor of this backend: any types, any strides, broadcast.
 *
 * Blocks until the work on the current stream of its device is done and the bytes have arrived. Elements of dst's
 * storage that lie between its own are read and written back unchanged.
 * @param src CPU tensor that can be expanded to the sizes of `dst`.
 * @param dst Tensor of this backend.
 */
void fromHost(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Copies a tensor of this backend into a CPU tensor: any types, any strides.
 *
 * Blocks until the work on the current stream of its device, and the copy, are done.
 * @param src Tensor of this backend.
 * @param dst CPU tensor to whose sizes `src` can be expanded.
 */
void intoHost(const at::Tensor& src, const at::Tensor& dst);

} // namespace openreg
