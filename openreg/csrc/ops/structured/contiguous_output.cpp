// Outputs for kernels that write contiguous memory only.
#include "ops/structured/contiguous_output.h"

#include <ATen/ops/empty.h>

namespace openreg {

ContiguousOutput::ContiguousOutput(const at::Tensor& output, std::optional<at::ScalarType> type)
    : output_(output), tensor_(output) {
  if (output.defined() && (!output.is_contiguous() || type.value_or(output.scalar_type()) != output.scalar_type())) {
    const auto options = output.options().dtype(type.value_or(output.scalar_type()));
    tensor_ = at::empty(output.sizes(), options, at::MemoryFormat::Contiguous);
  }
}

void ContiguousOutput::finish() const {
  if (output_.defined() && !tensor_.is_same(output_)) {
    output_.copy_(tensor_);
  }
}

} // namespace openreg
