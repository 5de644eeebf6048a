// The parts of a reduction that are work of the device on either way: a factor before, a division after.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace openreg {

/** @brief Values times the factor of a PREMUL_SUM; of other reductions they stay as they are. Does not block. */
at::Tensor factored(const at::Tensor& values, const c10d::ReduceOp& reduceOp);

/** @brief Makes the average of a sum over `ranks`, in place; of integers, rounded towards 0. Does not block. */
void divideByRanks(const at::Tensor& sum, int ranks);

} // namespace openreg
