// PyTorch's types of elements as device code knows them.
#include "ops/launch/dtype.h"

#include "ops/launch/missing_kernel.h"

#include <c10/util/StringUtil.h>

namespace openreg {

std::optional<kernels::DType> findKernelDType(c10::ScalarType type) {
  using kernels::DType;
  switch (type) {
    case c10::ScalarType::Byte:
      return DType::UInt8;
    case c10::ScalarType::Char:
      return DType::Int8;
    case c10::ScalarType::Short:
      return DType::Int16;
    case c10::ScalarType::Int:
      return DType::Int32;
    case c10::ScalarType::Long:
      return DType::Int64;
    case c10::ScalarType::UInt16:
      return DType::UInt16;
    case c10::ScalarType::UInt32:
      return DType::UInt32;
    case c10::ScalarType::UInt64:
      return DType::UInt64;
    case c10::ScalarType::Half:
      return DType::Half;
    case c10::ScalarType::BFloat16:
      return DType::BFloat16;
    case c10::ScalarType::Float:
      return DType::Float;
    case c10::ScalarType::Double:
      return DType::Double;
    case c10::ScalarType::ComplexHalf:
      return DType::ComplexHalf;
    case c10::ScalarType::ComplexFloat:
      return DType::ComplexFloat;
    case c10::ScalarType::ComplexDouble:
      return DType::ComplexDouble;
    case c10::ScalarType::Bool:
      return DType::Bool;
    default:
      return std::nullopt;
  }
}

kernels::DType kernelDType(c10::ScalarType type, const char* op) {
  const auto dtype = findKernelDType(type);
  if (C10_UNLIKELY(!dtype.has_value())) {
    throw MissingKernel(c10::str('"', op, "\" not implemented for '", c10::toString(type), "'"));
  }
  return *dtype;
}

} // namespace openreg
