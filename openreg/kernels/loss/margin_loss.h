// Arguments of the kernels "margin_loss" and "margin_loss_backward". Plain data: the launcher includes this file, too.
// Arrays are contiguous and of the kernel's compute type, but for targets.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Each class that a row has as a target is to be ahead of each that it has not by a margin; what is missing is the
/// loss, to some power: Σ max(0, margin - input[target] + input[other])^power * weight[target] / classes.
struct MarginLossArgs {
  void* input;     ///< rows × classes.
  int64_t* target; ///< rows × targets.
  void* weight;    ///< Of each class; or null.
  void* loss;      ///< Of each row. Backward: its gradient, read.
  void* isTarget;  ///< rows × classes, 1 or 0, written; or null.
  void* gradInput; ///< Backward: written.
  int64_t rows;
  int64_t classes;
  int64_t targets; ///< Of a row. Of several, the first that is -1 ends them.
  int64_t power;   ///< 1 or 2.
  double margin;
};

} // namespace openreg::kernels
