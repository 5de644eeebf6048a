// Arguments of the kernels "fused_adam" and "fused_sgd": an optimizer's step for many tensors. Plain data: the launcher
// includes this file, too.
#pragma once

#include <cstddef>

#include "kernels/loop/lists.h"

namespace openreg::kernels {

// LITERALINCLUDE START: FUSED ARGS
/// What both have in common. Numbers that may be on the device come as pointers, so that nobody waits for them.
struct FusedArgs {
  double learningRate;    ///< If there is no pointer to one.
  const double* onDevice; ///< The learning rate; may be null.
  const float* gradScale; ///< Gradients are divided by it, and stay so; may be null.
  const float* foundInf;  ///< If it is 1, nothing is done; may be null.
  double weightDecay;     ///< A factor.
  double first;           ///< Adam's beta1, SGD's momentum.
  double second;          ///< Adam's beta2, SGD's dampening.
  double epsilon;         ///< Of Adam.
  int32_t maximize;       ///< Gradients change their sign.
  int32_t variant;        ///< Adam: 1 is AdamW. SGD: 1 is Nesterov's.
  int32_t firstStep;      ///< Of SGD: the momentum is not read.
  int32_t arrays;         ///< Of each tensor.
  int32_t tensors;        ///< How many.
  DType dtype;            ///< Of all arrays but steps, which are a float each.
  alignas(8) unsigned char packed[4096 - 88];

  /// Its first number is the count of the elements; behind it are the arrays.
  int64_t* entry(int i) { return reinterpret_cast<int64_t*>(packed) + static_cast<ptrdiff_t>(i) * (arrays + 1); }
  const int64_t* entry(int i) const { return const_cast<FusedArgs*>(this)->entry(i); }
  int64_t count(int i) const { return *entry(i); }
  void*& array(int i, int k) { return reinterpret_cast<void**>(entry(i) + 1)[k]; }
  void* array(int i, int k) const { return const_cast<FusedArgs*>(this)->array(i, k); }

  /// Bytes that are used by so many tensors.
  size_t size(int count) const {
    return offsetof(FusedArgs, packed) + static_cast<size_t>(count) * static_cast<size_t>(arrays + 1) * 8;
  }
};
// LITERALINCLUDE END: FUSED ARGS
static_assert(sizeof(FusedArgs) == OPENREG_MAX_ARGUMENT_BYTES);

/// The arrays of a tensor, in their order. Adam's `MaxSquares` is there with amsgrad, SGD's `Momentum` with momentum.
enum FusedAdamArray { kAdamParameter, kAdamGradient, kAdamStep, kAdamAverage, kAdamSquares, kAdamMaxSquares };
enum FusedSgdArray { kSgdParameter, kSgdGradient, kSgdMomentum };

} // namespace openreg::kernels
