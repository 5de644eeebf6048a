// Arguments of the kernel "split_heads". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Queries, keys and values out of rows that have all three: a bias is added, and the queries are scaled. Arrays are
/// contiguous and of the kernel's compute type.
struct SplitHeadsArgs {
  void* rows; ///< batch × length × 3 × heads × size.
  void* bias; ///< 3 × heads × size.
  void* out;  ///< 3 × batch × heads × length × size, written.
  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t size;
  double scale;
};

} // namespace openreg::kernels
