// Arguments of the kernels "nll_loss.…" and "nll_loss_backward.…". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/operand.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

/// What becomes of the losses of a batch. The numbers are PyTorch's.
enum class LossReduction : int64_t { None = 0, Mean = 1, Sum = 2 };

/// Device memory of any type, and how far its elements are apart.
struct Vector {
  void* data;
  int64_t stride; ///< Bytes.
  DType dtype;
};

/// Guesses that are summed by themselves. Not so many as a thread would like: so the sum does not depend on how many
/// threads there are.
constexpr int64_t kGuessesOfPart = 8192;

/// The loss of guesses among `classes` classes: -weight[target] * input[target]. Each pixel of each image is a guess; a
/// batch of plain guesses is one image.
struct NllLossArgs {
  Vector input; ///< Forward: log-probabilities, read. Backward: their gradient, written. The stride is an image's.
  int64_t pixelStride; ///< Bytes from a pixel to the next, of `input`.
  int64_t classStride; ///< Bytes from a class to the next, of `input`.
  Vector target;       ///< Class of each guess, read.
  Vector weight;       ///< Of each class, read; `data` is null if there are none.
  Vector loss;         ///< Forward: one, or one for each guess, written. Backward: its gradient, read.
  Vector totalWeight;  ///< Sum of the weights of the targets: forward written, backward read.
  double* sums;        ///< Forward: room for two of each part, if there are several; else null.
  int64_t images;
  int64_t pixels; ///< Of an image.
  int64_t classes;
  int64_t ignoreIndex; ///< Targets that count for nothing.
  LossReduction reduction;

  int64_t guesses() const { return images * pixels; }

  /// Parts of the guesses; at least one.
  int64_t parts() const { return partsOf(guesses(), kGuessesOfPart); }
};

} // namespace openreg::kernels
