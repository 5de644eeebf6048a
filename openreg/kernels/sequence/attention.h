// Arguments of the kernels "attention" and "attention_backward". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/random/philox.h"

namespace openreg::kernels {

// LITERALINCLUDE START: ATTENTION ARGS
/// Rows of numbers: those of a position of a head of a sample. A row's numbers lie one behind the other.
struct AttentionRows {
  void* data; ///< Of the type that the kernel computes in; device memory. May be null where a kernel has no use for it.
  int64_t strides[3]; ///< Elements from sample to sample, head to head, position to position.
};

/// out = softmax(scale · query × keyᵀ + bias) × value for each head of each sample, and its derivative.
struct AttentionArgs {
  AttentionRows query;
  AttentionRows key;
  AttentionRows value;
  AttentionRows out;     ///< Written by the forward, read by the backward.
  void* logSumExp;       ///< batch × heads × queries, contiguous; as `out`.
  AttentionRows gradOut; ///< Read by the backward, as what follows is written by it.
  AttentionRows gradQuery;
  AttentionRows gradKey;
  AttentionRows gradValue;
  const void* bias;       ///< Added to the scores; may be null.
  int64_t biasStrides[4]; ///< Bytes, by sample, head, query and key; 0 where it is broadcast.
  DType biasType;
  int32_t causal; ///< A query sees no key with a larger number than its own.
  int64_t batch;
  int64_t heads;      ///< Of queries.
  int64_t keyHeads;   ///< Of keys and values; each serves heads / keyHeads heads of queries.
  int64_t queries;    ///< Positions.
  int64_t keys;       ///< Positions.
  int64_t width;      ///< Numbers of a query and of a key.
  int64_t valueWidth; ///< Numbers of a value.
  double scale;
  double keep;         ///< Probability that dropout keeps a pair of query and key; 1 if there is none.
  PhiloxRange numbers; ///< 32 bits for each pair; used if keep is less than 1.
};
// LITERALINCLUDE END: ATTENTION ARGS

} // namespace openreg::kernels
