// Arguments of the kernel "sort_rows". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Finds the order of rows: the first elements in which two rows differ decide.
struct SortRowsArgs {
  int64_t* order; ///< The rows' numbers in order, written.
  const void* in; ///< rows × columns elements, contiguous.
  int64_t rows;
  int64_t columns;
  DType dtype;
};

} // namespace openreg::kernels
