// The device's own strided copy, if its driver has one.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

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

} // namespace openreg
