// Copies that never leave the device.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Queues a copy between tensors of one device, one type and equal bits, of any strides. Does not block.
 * @param src Tensor of the sizes of `dst`; the two do not overlap.
 * @param dst Tensor of the same device, which does not overlap itself.
 * @return False if nothing was done because this needs a kernel that the driver lacks.
 */
bool copyOnDevice(const at::Tensor& src, const at::Tensor& dst);

/**
 * @brief Queues a copy of equally laid out, dense tensors from one device to another. Does not block.
 *
 * Ordered after the work on the current streams of both devices, and before what is queued on either later.
 */
void copyAcrossDevices(const at::Tensor& src, const at::Tensor& dst);

} // namespace openreg
