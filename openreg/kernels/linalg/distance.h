// Arguments of the kernels "cdist.…", "cdist_backward.…", "pdist.…" and "pdist_backward.…". Plain data: the launcher
// includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Distances between rows. Arrays are contiguous, numbers of the compute type.
struct DistanceArgs {
  void* first;     ///< batch × rows × columns. "…dist_backward": its gradient is wanted.
  void* second;    ///< batch × others × columns. "pdist": as `first`.
  void* distances; ///< batch × rows × others; "pdist": of each pair of rows once. Written by forward kernels.
  void* grad;      ///< Backward: the distances' gradient.
  void* result;    ///< Backward: the gradient of `first`, written.
  int64_t batch;
  int64_t rows;
  int64_t others;
  int64_t columns;
  double p;
};

} // namespace openreg::kernels
