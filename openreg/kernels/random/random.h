// Parameters of the random kernels. Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/random/philox.h"

namespace openreg::kernels {

// Each of these is the start of StridedArgs::parameters. Element number i of the output takes its random bits from the
// range by its number alone: 32 of them where the kernel computes in float, 64 where it computes in double or int64.

/// "uniform": in [from, to).
struct UniformParameters {
  PhiloxRange numbers;
  double from;
  double to;
  double last;    ///< The largest number below `to` that the output's type has; `from` if there is none.
  int32_t digits; ///< Binary digits of the output's type: as many random bits make a number.
};

/// "normal" and "log_normal", whose logarithm is normal.
struct NormalParameters {
  PhiloxRange numbers;
  double mean;
  double std;
};

/// "exponential".
struct ExponentialParameters {
  PhiloxRange numbers;
  double lambda;
};

/// "cauchy".
struct CauchyParameters {
  PhiloxRange numbers;
  double median;
  double sigma;
};

/// "geometric": tries until the first success. Computes in double.
struct GeometricParameters {
  PhiloxRange numbers;
  double p; ///< Of a success; between 0 and 1.
};

/// "random": integers from `from` on, into any type. Computes in int64.
struct IntegersParameters {
  PhiloxRange numbers;
  int64_t from;
  uint64_t count; ///< How many different ones; 0 stands for 2^64.
};

/// "bernoulli": 1 or 0, into any type. Computes in float.
struct BernoulliParameters {
  PhiloxRange numbers;
  double p; ///< Of a 1.
};

/// "bernoulli_tensor": as "bernoulli", with the probabilities as its input.
struct BernoulliTensorParameters {
  PhiloxRange numbers;
};

/// "dropout": out = in * mask * scale and mask, which are the outputs. 32 bits an element whatever it computes in.
struct DropoutParameters {
  PhiloxRange numbers;
  double keep;  ///< Probability of a 1 in the mask.
  double scale; ///< 1 / keep, or 0.
};

/// "multinomial": indices of categories, by their weights. One row of weights makes one row of indices.
struct MultinomialArgs {
  PhiloxRange numbers;      ///< 64 bits for each sample, or for each weight if without replacement.
  const void* weights;      ///< rows x categories; device memory, read.
  int64_t* indices;         ///< rows x samples; device memory, written.
  double* workspace;        ///< rows x categories, contiguous; device memory.
  int64_t* order;           ///< rows x categories, contiguous; device memory. Used without replacement.
  int64_t rows;             ///< Number of distributions.
  int64_t categories;       ///< Weights of each.
  int64_t samples;          ///< Indices of each.
  int64_t weightStrides[2]; ///< Bytes, by row and by category.
  int64_t indexStrides[2];  ///< Bytes, by row and by sample.
  DType dtype;              ///< Of the weights.
  int32_t replacement;      ///< Whether an index may come up twice in a row.
};

/// "permutation": the integers from 0 to count - 1 in random order.
struct PermutationArgs {
  PhiloxRange numbers; ///< 64 bits for each.
  void* out;           ///< Device memory, written.
  int64_t count;       ///< How many.
  int64_t stride;      ///< Bytes from one to the next.
  DType dtype;         ///< Of the elements; real.
};

} // namespace openreg::kernels
