// Functions of real numbers in forms that the vectoriser knows.
#pragma once

#include <cmath>

// glibc has these for whole vectors, too, in libmvec, but tells gcc so only where -ffast-math is on. The vector forms
// are within 4 units in the last place.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
extern "C" {
// NOLINTBEGIN(readability-redundant-declaration)
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) double exp(double) noexcept;
__attribute__((simd("notinbranch"))) float logf(float) noexcept;
__attribute__((simd("notinbranch"))) double log(double) noexcept;
__attribute__((simd("notinbranch"))) float sinf(float) noexcept;
__attribute__((simd("notinbranch"))) double sin(double) noexcept;
__attribute__((simd("notinbranch"))) float cosf(float) noexcept;
__attribute__((simd("notinbranch"))) double cos(double) noexcept;
__attribute__((simd("notinbranch"))) float powf(float, float) noexcept;
__attribute__((simd("notinbranch"))) double pow(double, double) noexcept;
// NOLINTEND(readability-redundant-declaration)
}
#endif
