// Arguments of the kernels "dot.…". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// The sum of products of two vectors' elements. Arrays are contiguous, numbers of the compute type.
struct DotArgs {
  void* first;
  void* second;
  void* result; ///< One number, written.
  int64_t count;
  int64_t conjugates; ///< Whether the elements of `first` are taken conjugated.
};

} // namespace openreg::kernels
