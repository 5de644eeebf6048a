// Copies that the devices do themselves.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

// LITERALINCLUDE START: SAME BITS
/** @brief Whether equal values of two tensors are equal bytes: one type, and equal conjugate and negative bits. */
inline bool sameBits(const at::Tensor& src, const at::Tensor& dst) {
  return src.scalar_type() == dst.scalar_type() && src.is_conj() == dst.is_conj() && src.is_neg() == dst.is_neg();
}

/** @brief Whether, moreover, all the bytes lie in one piece and in the same order: then a copy is moving bytes. */
inline bool sameBytes(const at::Tensor& src, const at::Tensor& dst) {
  return sameBits(src, dst) && src.sizes() == dst.sizes() && src.strides() == dst.strides() &&
         src.is_non_overlapping_and_dense();
}
// LITERALINCLUDE END: SAME BITS

/**
 * @brief Whether the device of `dst` can copy into it from a tensor like `src`, or this needs a kernel that its driver
 *        lacks. `src` may still be elsewhere.
 */
bool canCopyOnDevice(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Queues a copy between tensors of one device, of any strides. Does not block.
 * @param src Tensor of the sizes of `dst`; the two do not overlap, and canCopyOnDevice().
 * @param dst Tensor of the same device, which does not overlap itself.
 */
void copyOnDevice(const at::Tensor& src, const at::Tensor& dst);

/** @brief Whether the two devices can copy from `src` to `dst`, or this needs a kernel that the driver lacks. */
bool canCopyAcrossDevices(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Queues a copy from one device to another, of any strides. Does not block.
 *
 * Ordered after the work on the current streams of both devices, and before what is queued on either later.
 * @param src Tensor of the sizes of `dst`; canCopyAcrossDevices().
 * @param dst Tensor of another device, which does not overlap itself.
 */
void copyAcrossDevices(const at::Tensor& src, const at::Tensor& dst);

} // namespace openreg
