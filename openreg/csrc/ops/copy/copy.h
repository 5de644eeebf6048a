// Copies: their parts, which copy.cpp and transfer.cpp have between them.
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
 * @brief Whether the driver has the kernel "copy". Asked once for each device; without it such copies go by the host.
 * @throws c10::AcceleratorError if the device has failed.
 */
bool hasCopyKernel(c10::DeviceIndex device);

/**
 * @brief Queues a copy between tensors of any strides on the current stream. Does not block.
 * @param src Tensor of the sizes and element size of `dst`.
 * @param dst Tensor on a device that hasCopyKernel().
 */
void launchCopy(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Queues a copy into `dst.narrow(dim, start, src.size(dim))`, without making that tensor.
 * @param src Tensor of the element size and the other sizes of `dst`, of at most kernels::kMaxDims dimensions.
 * @param dst As of launchCopy().
 */
void launchCopyInto(const at::Tensor& src, const at::Tensor& dst, int64_t dim, int64_t start);

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

/**
 * @brief An uninitialised tensor without gaps, of the sizes and the conjugate and negative bits of `like`.
 * @param like Its strides are kept if it is dense itself; otherwise the order of its dimensions is.
 * @param options Type and device.
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
