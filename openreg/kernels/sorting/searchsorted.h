// Arguments of the kernels "searchsorted.…". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Finds where values belong among boundaries in ascending order. Arrays are contiguous, numbers of the compute type.
struct SearchArgs {
  void* result; ///< A place for each value, written.
  void* values;
  void* boundaries;
  const int64_t* sorter; ///< The order of the boundaries; null if they are in order.
  int64_t count;         ///< Values.
  int64_t perRow;        ///< Values for each row of boundaries; all of them if there is one row.
  int64_t size;          ///< Boundaries of a row.
  int64_t right;         ///< Whether a value belongs behind a boundary that equals it.
  int64_t narrow;        ///< Whether the results are of 32 bits.
};

} // namespace openreg::kernels
