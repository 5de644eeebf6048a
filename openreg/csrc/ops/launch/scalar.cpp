// Numbers from PyTorch into the arguments of kernels.
#include "ops/launch/scalar.h"

#include <cstring>

namespace openreg {
namespace {

template <class C>
size_t put(unsigned char* to, const c10::Scalar& value) {
  const C converted = value.to<C>();
  std::memcpy(to, &converted, sizeof(C));
  return sizeof(C);
}

/// Narrow integers are computed in 64 bits; PyTorch takes the numbers that the narrow type holds. Halves are computed
/// in float, and there PyTorch takes what a float holds for some operators and not for others.
void checkRange(const c10::Scalar& value, kernels::DType dtype) {
  switch (dtype) {
    case kernels::DType::UInt8:
      (void)value.to<uint8_t>();
      break;
    case kernels::DType::Int8:
      (void)value.to<int8_t>();
      break;
    case kernels::DType::Int16:
      (void)value.to<int16_t>();
      break;
    case kernels::DType::Int32:
      (void)value.to<int32_t>();
      break;
    case kernels::DType::UInt16:
      (void)value.to<uint16_t>();
      break;
    case kernels::DType::UInt32:
      (void)value.to<uint32_t>();
      break;
    default:
      break;
  }
}

} // namespace

size_t putScalar(unsigned char* to, const c10::Scalar& value, kernels::DType dtype) {
  checkRange(value, dtype);
  switch (kernels::computeTypeOf(dtype)) {
    case kernels::ComputeType::Bool:
      return put<bool>(to, value);
    case kernels::ComputeType::Int64:
      return put<int64_t>(to, value);
    case kernels::ComputeType::UInt64:
      return put<uint64_t>(to, value);
    case kernels::ComputeType::Float:
      return put<float>(to, value);
    case kernels::ComputeType::Double:
      return put<double>(to, value);
    case kernels::ComputeType::ComplexFloat:
      return put<c10::complex<float>>(to, value);
    case kernels::ComputeType::ComplexDouble:
      return put<c10::complex<double>>(to, value);
  }
  return 0;
}

} // namespace openreg
