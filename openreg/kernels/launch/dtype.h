// Types of elements in memory, and the fewer types that kernels compute in. The launcher includes this file, too.
#pragma once

#include <complex>
#include <cstdint>

namespace openreg::kernels {

/// A complex number. An alias, so that another compiler's device code may have its own.
template <class T>
using Complex = std::complex<T>;

/// Types of elements in memory. The numbers travel in launches: they never change.
enum class DType : int32_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Half = 5,
  BFloat16 = 6,
  Float = 7,
  Double = 8,
  ComplexHalf = 9,
  ComplexFloat = 10,
  ComplexDouble = 11,
  Bool = 12,
  UInt16 = 13,
  UInt32 = 14,
  UInt64 = 15,
};
constexpr int kDTypes = 16;

/// Types that kernels compute in. Each element type is computed in one of them: narrow integers in int64 (and wrap
/// around when stored), half and bfloat16 in float.
enum class ComputeType : int32_t { Bool, Int64, UInt64, Float, Double, ComplexFloat, ComplexDouble };
constexpr int kComputeTypes = 7;

/// How a compute type is called in the name of a kernel: "add.float".
constexpr const char* computeTypeName(ComputeType type) {
  constexpr const char* kNames[kComputeTypes] = {"bool",   "int64",         "uint64",        "float",
                                                 "double", "complex_float", "complex_double"};
  return kNames[static_cast<int>(type)];
}

/// The type that elements of a type are computed in.
constexpr ComputeType computeTypeOf(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return ComputeType::Bool;
    case DType::UInt64:
      return ComputeType::UInt64;
    case DType::Half:
    case DType::BFloat16:
    case DType::Float:
      return ComputeType::Float;
    case DType::Double:
      return ComputeType::Double;
    case DType::ComplexHalf:
    case DType::ComplexFloat:
      return ComputeType::ComplexFloat;
    case DType::ComplexDouble:
      return ComputeType::ComplexDouble;
    default:
      return ComputeType::Int64;
  }
}

/// Bytes of an element; 0 for a number that is no DType.
constexpr int64_t elementSize(DType dtype) {
  switch (dtype) {
    case DType::UInt8:
    case DType::Int8:
    case DType::Bool:
      return 1;
    case DType::Int16:
    case DType::UInt16:
    case DType::Half:
    case DType::BFloat16:
      return 2;
    case DType::Int32:
    case DType::UInt32:
    case DType::Float:
    case DType::ComplexHalf:
      return 4;
    case DType::Int64:
    case DType::UInt64:
    case DType::Double:
    case DType::ComplexFloat:
      return 8;
    case DType::ComplexDouble:
      return 16;
  }
  return 0;
}

/// The element type that a compute type C is in memory.
template <class C>
constexpr DType kDTypeOf = DType{-1};
template <>
inline constexpr DType kDTypeOf<bool> = DType::Bool;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::Int64;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::UInt64;
template <>
inline constexpr DType kDTypeOf<float> = DType::Float;
template <>
inline constexpr DType kDTypeOf<double> = DType::Double;
template <>
inline constexpr DType kDTypeOf<Complex<float>> = DType::ComplexFloat;
template <>
inline constexpr DType kDTypeOf<Complex<double>> = DType::ComplexDouble;

template <class C>
constexpr ComputeType kComputeTypeOf = computeTypeOf(kDTypeOf<C>);

} // namespace openreg::kernels
