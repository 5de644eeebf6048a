// An argument that may be left out.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace openreg {

/// An argument that may be left out.
using OptionalTensor = std::optional<at::Tensor>;

} // namespace openreg
