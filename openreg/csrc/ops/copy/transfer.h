// Copies between the host and a device.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Copies a CPU tensor into a tensor of this backend: any types, any strides.
 *
 * Happens in the order of the current stream of dst's device.
 * @param src CPU tensor of the sizes of `dst`. May be changed as soon as this has returned, unless its memory is pinned
 *        and `nonBlocking` is set: then only when the copy is done.
 * @param dst Tensor of this backend that does not overlap itself.
 * @param nonBlocking Need not wait for the copy. Otherwise blocks until the bytes have arrived on the device.
 */
void copyHostToDevice(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking);

/**
 * @brief Copies a tensor of this backend into a CPU tensor: any types, any strides.
 *
 * Happens in the order of the current stream of src's device.
 * @param src Tensor of this backend, of the sizes of `dst`.
 * @param dst CPU tensor.
 * @param nonBlocking Need not wait for the copy if the memory of `dst` is pinned. Otherwise blocks until it is done.
 */
void copyDeviceToHost(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking);

} // namespace openreg
