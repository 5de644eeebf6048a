// Kernels over contiguous arrays of the type that they compute in.
#include "ops/launch/arrays.h"

#include "ops/launch/dtype.h"
#include "ops/structured/structured_output.h"

#include <ATen/ops/empty.h>

namespace openreg {

at::ScalarType arrayType(at::ScalarType type) {
  const auto dtype = findKernelDType(type);
  if (!dtype.has_value()) {
    return type; // No kernel has it. The launch says so.
  }
  switch (kernels::computeTypeOf(*dtype)) {
    case kernels::ComputeType::Bool:
      return at::kBool;
    case kernels::ComputeType::Int64:
      return at::kLong;
    case kernels::ComputeType::UInt64:
      return at::kUInt64;
    case kernels::ComputeType::Float:
      return at::kFloat;
    case kernels::ComputeType::Double:
      return at::kDouble;
    case kernels::ComputeType::ComplexFloat:
      return at::kComplexFloat;
    case kernels::ComputeType::ComplexDouble:
      return at::kComplexDouble;
  }
  return type;
}

at::Tensor asArray(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(arrayType(tensor.scalar_type())).contiguous() : at::Tensor();
}

at::Tensor asArray(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? asArray(*tensor) : at::Tensor();
}

ArrayOutput::ArrayOutput(const at::Tensor& output)
    : ContiguousOutput(output, output.defined() ? std::optional(arrayType(output.scalar_type())) : std::nullopt) {}

void checkArray(const KernelFamily& family, const ArrayPointer& pointer, const at::Tensor& like) {
  const auto& array = pointer.array;
  TORCH_CHECK(
      array.device() == like.device(), "Expected all tensors to be on the same device, but ", family.name(),
      " got some on ", like.device(), " and some on ", array.device());
  const bool isElements = pointer.type == at::ScalarType::Undefined;
  const auto wanted = isElements ? like.scalar_type() : pointer.type;
  const bool fits = pointer.fit == Fit::Computed || pointer.given == wanted ||
                    (pointer.fit == Fit::Parameter && at::isReducedFloatingType(wanted) && pointer.given == at::kFloat);
  TORCH_CHECK(
      fits && array.scalar_type() == (isElements ? arrayType(wanted) : wanted), family.name(), ": argument '",
      pointer.name, "' is of type ", pointer.given, "; expected ", wanted);
}

at::Tensor apartFromWritten(const ArrayPointer& pointer, std::initializer_list<ArrayPointer> all) {
  auto array = pointer.array;
  if (pointer.access == orAccessRead) {
    for (const auto& other : all) {
      array = other.access == orAccessRead ? array : apartFrom(other.array, array);
    }
  }
  return array;
}

} // namespace openreg
