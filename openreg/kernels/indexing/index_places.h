// Arguments of the kernels "index_places" and "reduce_places". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/indexing/indexing.h"

namespace openreg::kernels {

/// Where indices point, for a device whose threads can't each keep to places of their own: elements of one destination
/// are brought together by sorting. The first `placed` dimensions of the space are those that have a say in where; a
/// place is a distance in bytes from the first element of `indexed`.
struct IndexPlacesArgs {
  int64_t* places;         ///< Of each element of these dimensions; "reduce_places" reads them, in order.
  const int64_t* elements; ///< By "reduce_places": which element each of the places is of.
  int64_t placed;
  IndexArgs space; ///< A launch ends with its last index.

  /// Bytes that are used.
  size_t size() const { return offsetof(IndexPlacesArgs, space) + space.size(); }
};
static_assert(sizeof(IndexPlacesArgs) <= 4096);

} // namespace openreg::kernels
