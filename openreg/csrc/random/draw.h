// Launching a random kernel: reserve the numbers, say where the elements are.
#pragma once

#include "ops/launch/kernel_family.h"
#include "ops/launch/strided_launch.h"
#include "random/generator.h"

#include <ATen/TensorIterator.h>
#include <kernels/random/philox.h>

#include <cstddef>
#include <initializer_list>

namespace openreg {

// LITERALINCLUDE START: IN LOGICAL ORDER
/**
 * @brief An iterator that numbers elements as a program does: the last dimension fastest.
 *
 * TensorIterator's own order follows the strides. An element's random number depends on the element's number, and has
 * to be the same for `x` and for `x.t().contiguous().t()`. It checks as usual that no written memory overlaps.
 */
inline at::TensorIterator
inLogicalOrder(std::initializer_list<at::TensorBase> outputs, std::initializer_list<at::TensorBase> inputs = {}) {
  at::TensorIteratorConfig config;
  config.enforce_linear_iteration().resize_outputs(false).check_all_same_dtype(false).allow_cpu_scalars(true);
  for (const auto& output : outputs) {
    config.add_owned_output(output);
  }
  for (const auto& input : inputs) {
    config.add_owned_const_input(input);
  }
  return config.build();
}
// LITERALINCLUDE END: IN LOGICAL ORDER

// LITERALINCLUDE START: DRAW
/**
 * @brief Queues a random kernel over an iterator's operands on the current stream of its device. Does not block.
 * @param family Kernels of the operator.
 * @param type That the kernel computes in.
 * @param bits Random bits that it takes for an element: 32 or 64.
 * @param iter Operands, outputs first; made by inLogicalOrder().
 * @param generator From which the numbers come; the device's default if there is none.
 * @param parameters The kernel's; `numbers` is filled in here.
 * @throws c10::NotImplementedError if the operator does not have the type; c10::Error if the generator is of another
 *         device.
 */
template <class Parameters>
void draw(
    const KernelFamily& family,
    c10::ScalarType type,
    int bits,
    const at::TensorIteratorBase& iter,
    const std::optional<at::Generator>& generator,
    Parameters parameters) {
  const auto device = iter.device(0).index();
  const auto& kernel = family.get(type, device);
  auto& source = generatorFor(generator, device);
  if (iter.numel() == 0) {
    return;
  }
  StridedLaunch launch(iter, type, family.name());
  const auto perBlock = 128 / bits;
  parameters.numbers = source.reserve((static_cast<uint64_t>(iter.numel()) + perBlock - 1) / perBlock);
  launch.setParameters(parameters);
  launch.addPointer(
      offsetof(Parameters, numbers) + offsetof(kernels::PhiloxRange, captured),
      kernels::capturedBytes(parameters.numbers));
  launch.on(kernel);
}
// LITERALINCLUDE END: DRAW

} // namespace openreg
