// Hot loops compiled three times: for any processor, for those with vectors twice as wide (AVX2, the last ten years'),
// and for those whose vectors are twice as wide again (AVX-512).
#pragma once

// In front of a function: the loader of the library picks the version that the processor can run. gcc only (clang has
// no function templates in several versions), and not under sanitizers, whose run-time library is not up by then. Keep
// such functions static, or in an unnamed namespace: gcc shows the choice between versions to the whole process.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define OPENREG_MULTIVERSION __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define OPENREG_MULTIVERSION
#endif

// In front of a function that such loops call: it is compiled for the processor that the loop around it is compiled
// for.
#define OPENREG_INLINE __attribute__((always_inline))
