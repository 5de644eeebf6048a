// Checks of the stress program: the first thing that is wrong ends the process with its seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "openreg.h"

namespace stress {

inline uint64_t seedOfRun = 0;

[[noreturn]] inline void failed(const char* what, const char* detail) {
  std::fprintf(stderr, "stress: %s: %s (seed %llu)\n", what, detail, static_cast<unsigned long long>(seedOfRun));
  std::_Exit(1); // Other threads are at work: no destructors.
}

inline void require(bool holds, const char* what, const char* detail = "does not hold") {
  if (!holds) {
    failed(what, detail);
  }
}

/// A call that must succeed.
inline void check(orError_t error, const char* call) {
  if (error != orSuccess) {
    failed(call, orGetLastErrorMessage());
  }
}

} // namespace stress

#define CHECK(call) ::stress::check((call), #call)
