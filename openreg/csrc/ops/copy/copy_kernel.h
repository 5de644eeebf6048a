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

} // namespace openreg
