// Launching the kernels that sort along a dimension.
#pragma once

#include "ops/launch/kernel.h"

#include <kernels/sorting/sort.h>

#include <ATen/core/Tensor.h>

namespace openreg {

/**
 * @brief Queues a sorting kernel on the current stream of its device. Does not block.
 * @param kernel Which. In place of "sort" or "topk", if the device lacks it, runs of elements are sorted and merged,
 * and the first of each row taken.
 * @param args What the kernel is to do; all else is set here.
 * @param self Elements of a type that has an order.
 * @param dim Along which; its results are as many as `values` has there.
 * @param values,indices Outputs of any strides, of the dimensions of `self`.
 * @throws c10::NotImplementedError for types without an order.
 */
void launchSort(
    const Kernel& kernel,
    kernels::SortArgs args,
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& values,
    const at::Tensor& indices);

/** @brief Whether a device can sort, in one way or the other. */
bool canSort(c10::DeviceIndex device);

} // namespace openreg
