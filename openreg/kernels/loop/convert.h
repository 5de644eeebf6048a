// Conversions between element types, as PyTorch's casts do them.
#pragma once

#include <bit>
#include <type_traits>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// IEEE half precision, as it lies in memory.
struct Half {
  uint16_t bits;
};

/// The upper half of a float, as it lies in memory.
struct BFloat16 {
  uint16_t bits;
};

/// A complex number of two halves, as it lies in memory.
struct ComplexHalf {
  Half real;
  Half imag;
};

// Without branches, so that loops of them become vector code.

constexpr float toFloat(BFloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

constexpr BFloat16 toBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16; // to nearest, ties to even
  return {static_cast<uint16_t>(value != value ? 0x7FC0 : rounded)};
}

constexpr float toFloat(Half value) {
  const uint32_t word = uint32_t{value.bits} << 16;
  const uint32_t sign = word & 0x80000000u;
  const uint32_t twice = word + word; // without the sign
  // Normal numbers, infinities and NaN: move exponent and mantissa, and scale by the difference of the exponents' bias.
  const float normal = std::bit_cast<float>((twice >> 4) + (uint32_t{0xE0} << 23)) * 0x1.0p-112f;
  // Subnormal ones: put the mantissa below a known number and subtract that.
  const float subnormal = std::bit_cast<float>((twice >> 17) | (uint32_t{126} << 23)) - 0.5f;
  const bool isSubnormal = twice < (uint32_t{1} << 27);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(isSubnormal ? subnormal : normal));
}

constexpr Half toHalf(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t twice = word + word;
  const uint32_t sign = word & 0x80000000u;
  const uint32_t bias = (twice & 0xFF000000u) < 0x71000000u ? 0x71000000u : twice & 0xFF000000u;
  // Scaled so that what a half cannot hold overflows or is rounded off by the addition below.
  const float base = (std::bit_cast<float>(word & 0x7FFFFFFFu) * 0x1.0p+112f) * 0x1.0p-110f;
  const auto bits = std::bit_cast<uint32_t>(std::bit_cast<float>((bias >> 1) + 0x07800000u) + base);
  const uint32_t number = ((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu);
  return {static_cast<uint16_t>((sign >> 16) | (twice > 0xFF000000u ? 0x7E00u : number))};
}

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// `from` as a To. Integers wrap around; a fraction is cut off; a complex number loses its imaginary part; true is what
/// is not 0.
template <class To, class From>
constexpr To convert(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(toFloat(from));
  } else if constexpr (std::is_same_v<From, ComplexHalf>) {
    return convert<To>(Complex<float>(toFloat(from.real), toFloat(from.imag)));
  } else if constexpr (std::is_same_v<To, Half>) {
    return toHalf(convert<float>(from));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return toBFloat16(convert<float>(from));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    const auto value = convert<Complex<float>>(from);
    return {toHalf(value.real()), toHalf(value.imag())};
  } else if constexpr (kIsComplex<To>) {
    using Part = To::value_type;
    if constexpr (kIsComplex<From>) {
      return To(static_cast<Part>(from.real()), static_cast<Part>(from.imag()));
    } else {
      return To(static_cast<Part>(from), Part(0));
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (kIsComplex<From>) {
    return convert<To>(from.real());
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // C++ leaves open what a number that does not fit becomes. This is what processors and PyTorch make of it.
    if constexpr (std::is_same_v<To, uint64_t>) {
      return from >= From(0x1.0p63) ? static_cast<To>(from) : static_cast<To>(static_cast<int64_t>(from));
    } else {
      return static_cast<To>(static_cast<int64_t>(from));
    }
  } else {
    return static_cast<To>(from);
  }
}

/// Calls `use` with a value of the C++ type in which elements of `dtype` lie in memory. False if there is none.
template <class Use>
constexpr bool withStorageType(DType dtype, Use use) {
  switch (dtype) {
    case DType::UInt8:
      return use(uint8_t{}), true;
    case DType::Int8:
      return use(int8_t{}), true;
    case DType::Int16:
      return use(int16_t{}), true;
    case DType::Int32:
      return use(int32_t{}), true;
    case DType::Int64:
      return use(int64_t{}), true;
    case DType::Half:
      return use(Half{}), true;
    case DType::BFloat16:
      return use(BFloat16{}), true;
    case DType::Float:
      return use(float{}), true;
    case DType::Double:
      return use(double{}), true;
    case DType::ComplexHalf:
      return use(ComplexHalf{}), true;
    case DType::ComplexFloat:
      return use(Complex<float>{}), true;
    case DType::ComplexDouble:
      return use(Complex<double>{}), true;
    case DType::Bool:
      return use(bool{}), true;
    case DType::UInt16:
      return use(uint16_t{}), true;
    case DType::UInt32:
      return use(uint32_t{}), true;
    case DType::UInt64:
      return use(uint64_t{}), true;
  }
  return false;
}

} // namespace openreg::kernels
