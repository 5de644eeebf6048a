// Loops without dependencies between iterations.
#pragma once

/// Stands before a loop whose iterations depend on none before them, which the compiler can't see: what is written may
/// be what is read, as far as it knows. Then it uses vectors without a look at the addresses. Each says so in its
/// words.
#ifdef __clang__
#define OPENREG_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define OPENREG_IVDEP _Pragma("GCC ivdep")
#endif
