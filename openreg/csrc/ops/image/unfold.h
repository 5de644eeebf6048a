// The launch of the kernel "unfold".
#pragma once

#include <kernels/image/im2col.h>

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Queues the kernel "unfold" on the current stream of the tensors' device. Does not block.
 * @param args Describes images and matrices; their pointers and the size of an element are set here.
 * @param images Contiguous, of any type that convolutions have.
 * @param matrices Of the same type, and apart from `images`. Written.
 * @throws MissingKernel if there are no convolutions of the type.
 */
void launchUnfold(kernels::UnfoldArgs args, const at::Tensor& images, const at::Tensor& matrices);

} // namespace openreg
