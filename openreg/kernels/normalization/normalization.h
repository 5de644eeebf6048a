// Arguments of the kernels that normalise. Plain data: the launcher includes this file, too. All arrays are contiguous
// and of the kernel's compute type; those that are null are not wanted, or not there.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Parts of the rows, at most, each of which has sums of its own.
constexpr int64_t kSummedParts = 8;

/// "batch_norm": each channel of batch × channels × positions numbers gets mean 0 and deviation 1.
struct BatchNormArgs {
  void* input;
  void* output;
  void* weight;      ///< A factor for each channel, or null.
  void* bias;        ///< And what is added.
  void* runningMean; ///< Over many batches; written in training, else used. May be null in training.
  void* runningVar;
  void* mean;   ///< Training only: of this batch, written.
  void* invstd; ///< Training only: 1 / deviation of this batch, written.
  int64_t batch;
  int64_t channels;
  int64_t positions;
  int64_t training;
  double momentum; ///< Share of this batch in the running values.
  double eps;      ///< Added to the variance.
};

/// "batch_norm_backward".
struct BatchNormBackwardArgs {
  void* gradOutput;
  void* input;
  void* weight;     ///< Or null.
  void* mean;       ///< That was subtracted.
  void* invstd;     ///< That was the factor.
  void* gradInput;  ///< Written, or null.
  void* gradWeight; ///< Written, or null.
  void* gradBias;   ///< Written, or null.
  int64_t batch;
  int64_t channels;
  int64_t positions;
  int64_t training; ///< Whether mean and deviation were those of the batch, and so depend on the input.
};

/// "layer_norm": each of `rows` rows of numbers gets mean 0 and deviation 1.
struct LayerNormArgs {
  void* input;
  void* output;
  void* weight; ///< A factor for each column, or null.
  void* bias;   ///< And what is added.
  void* mean;   ///< Of each row, written.
  void* rstd;   ///< 1 / deviation of each row, written.
  int64_t rows;
  int64_t columns;
  double eps; ///< Added to the variance.
};

/// "layer_norm_backward".
struct LayerNormBackwardArgs {
  void* gradOutput;
  void* input;
  void* weight; ///< Or null.
  void* mean;
  void* rstd;
  void* gradInput;  ///< Written, or null.
  void* gradWeight; ///< Written, or null.
  void* gradBias;   ///< Written, or null.
  double* sums;     ///< Room for kSummedParts × 2 × columns, if a gradient of weight or bias is wanted.
  int64_t rows;
  int64_t columns;

  bool wantsInput() const { return gradInput != nullptr; }
  bool wantsSums() const { return gradWeight != nullptr || gradBias != nullptr; }
};

/// "group_norm": the channels of each image form groups; each group of numbers gets mean 0 and deviation 1.
struct GroupNormArgs {
  void* input;
  void* output;
  void* weight; ///< A factor for each channel, or null.
  void* bias;   ///< And what is added.
  void* mean;   ///< Of each group of each image, written.
  void* rstd;   ///< 1 / deviation, written.
  int64_t batch;
  int64_t groups;
  int64_t channels; ///< Of a group.
  int64_t positions;
  double eps; ///< Added to the variance.
};

/// "group_norm_backward".
struct GroupNormBackwardArgs {
  void* gradOutput;
  void* input;
  void* weight; ///< Or null.
  void* mean;
  void* rstd;
  void* gradInput;  ///< Written, or null.
  void* gradWeight; ///< Written, or null.
  void* gradBias;   ///< Written, or null.
  int64_t batch;
  int64_t groups;
  int64_t channels; ///< Of a group.
  int64_t positions;
  double* sums; ///< Room for 2 × batch × groups × channels.
};

/// "weight_norm": each of `vectors` vectors gets a length of its own. They lie in outer × vectors × inner numbers.
struct WeightNormArgs {
  void* direction;
  void* length; ///< Of each vector.
  void* output;
  void* norms; ///< The lengths that the vectors had, written.
  int64_t outer;
  int64_t vectors;
  int64_t inner;
};

/// "weight_norm_backward".
struct WeightNormBackwardArgs {
  void* gradOutput;
  void* direction;
  void* length;
  void* norms;         ///< The lengths that the vectors had.
  void* gradDirection; ///< Written.
  void* gradLength;    ///< Written.
  int64_t outer;
  int64_t vectors;
  int64_t inner;
};

} // namespace openreg::kernels
