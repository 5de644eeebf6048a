// What batch normalisation and its derivative check alike.
#pragma once

#include "ops/structured/structured_output.h"

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <optional>

namespace openreg {

inline bool isGiven(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

/**
 * @brief Checks types and sizes.
 * @return The type of what is kept for each channel: halves may come with float parameters.
 * @throws c10::Error.
 */
inline at::ScalarType
checkParameters(const char* op, const at::Tensor& input, std::initializer_list<const OptionalTensor*> parameters) {
  auto type = input.scalar_type();
  for (const auto* parameter : parameters) {
    if (!isGiven(*parameter)) {
      continue;
    }
    if ((*parameter)->scalar_type() != type) {
      TORCH_CHECK(
          at::isReducedFloatingType(input.scalar_type()) && (*parameter)->scalar_type() == at::kFloat,
          "mixed dtype: all inputs must share same datatype.");
      type = at::kFloat;
    }
    TORCH_CHECK(
        input.dim() >= 2 && (*parameter)->numel() == input.size(1), op, ": expected a number for each of the input's ",
        "channels, but got ", (*parameter)->numel(), " numbers for an input of size ", input.sizes());
  }
  return type;
}

/** @brief The sizes among a kernel's arguments. */
template <class Args>
void describe(Args& args, const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: expected an input of at least 2 dimensions, but got ", input.sizes());
  args.batch = input.size(0);
  args.channels = input.size(1);
  args.positions = c10::multiply_integers(input.sizes().slice(2));
}

} // namespace openreg
