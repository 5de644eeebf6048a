// Arguments of the kernels "dot.…". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/loop/element.h"

namespace openreg::kernels {

/// The sum of products of two vectors' elements. Arrays are contiguous, numbers of the compute type.
struct DotArgs {
  void* first;
  void* second;
  void* result; ///< One number, written.
  double* sums; ///< Room for the sum of each part, of twice 64 bits, if there are several; else null.
  int64_t count;
  int64_t conjugates; ///< Whether the elements of `first` are taken conjugated.

  /// Elements of a part. The number of parts does not depend on that of threads, and so the sum does not.
  static constexpr int64_t kPart = 32 * 1024;

  /// At least one.
  int64_t parts() const { return partsOf(count, kPart); }
};

} // namespace openreg::kernels
