// What is drawn on a device that sorts, but has no kernel of its own for it.
#pragma once

#include "ops/launch/kernel.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <optional>

namespace openreg {

/** @brief Whether a device lacks a kernel that draws, but has one that sorts. */
bool drawsBySorting(const Kernel& kernel, c10::DeviceIndex device);

/**
 * @brief The numbers from 0 up to n in random order, by sorting n random numbers. Does not block.
 * @param generator From which the random numbers come; the device's default if there is none.
 * @return A tensor of n longs.
 */
at::Tensor permutationBySorting(int64_t n, c10::Device device, const std::optional<at::Generator>& generator);

/**
 * @brief What at::multinomial() draws. Does not block: a bad weight is an error of the device, which arrives late.
 * @param weights A row of weights, or several.
 * @return Longs: for each row, `samples` of its categories.
 */
at::Tensor multinomialBySorting(
    const at::Tensor& weights, int64_t samples, bool replacement, const std::optional<at::Generator>& generator);

} // namespace openreg
