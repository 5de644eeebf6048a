// Kernels that are launched by programs, which know their names at run time only.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <tuple>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: LAUNCH BY NAME
/** @brief A tensor whose address a kernel gets: at which byte of the arguments, and whether the kernel writes it. */
using PointedTensor = std::tuple<size_t, at::Tensor, bool>;

/**
 * @brief Queues a kernel on the current stream of its tensors' device. Does not block.
 * @param name Of the kernel, with its type: "rms_norm.float".
 * @param args The bytes of its argument struct. The addresses are put in here.
 * @param tensors Each tensor of the launch. Those without elements leave a null pointer. Autograd counts those that are
 *     written as changed.
 * @throws c10::Error if there is no tensor, if they are not on one device of this backend, or if an address would not
 *     be within the arguments.
 * @throws c10::NotImplementedError if the driver has no such kernel.
 */
C10_EXPORT void launchByName(const std::string& name, std::string args, const std::vector<PointedTensor>& tensors);
// LITERALINCLUDE END: LAUNCH BY NAME

} // namespace openreg
