// The device's own strided copy, if its driver has one.
#pragma once

#include <openreg.h>

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Whether the driver has the kernel "copy". Asked once for each device; without it such copies go by the host.
 * @throws c10::AcceleratorError if the device has failed.
 */
bool hasCopyKernel(c10::DeviceIndex device);

/**
 * @brief Queues a copy between tensors of any strides. Does not block.
 * @param src Tensor of the sizes and element size of `dst`.
 * @param dst Tensor on a device that hasCopyKernel().
 * @param stream Stream of that device.
 * @return False, with nothing queued, if the tensors have more dimensions than the kernel takes.
 */
bool launchCopy(const at::Tensor& src, const at::Tensor& dst, orStream_t stream);

} // namespace openreg
