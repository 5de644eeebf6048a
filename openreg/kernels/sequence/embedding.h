// Arguments of the kernel "embedding_backward". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Adds up the gradients of the rows that were looked up. Arrays are contiguous, numbers of the kernel's compute type.
struct EmbeddingBackwardArgs {
  void* grad;             ///< count × columns.
  const int64_t* indices; ///< The row that each of them came from.
  void* result;           ///< rows × columns, written.
  int64_t* frequencies; ///< Room for one of each row, whose gradient is divided by how often it was looked up; or null.
  int64_t count;
  int64_t rows;
  int64_t columns;
  int64_t paddingIndex; ///< A row that gets no gradient; −1 for none.
};

} // namespace openreg::kernels
