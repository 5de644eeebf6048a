// The gradient of an embedding's rows.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/sequence/embedding.h>

#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::EmbeddingBackwardArgs;

at::Tensor embeddingBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& indices,
    int64_t rows,
    int64_t paddingIndex,
    bool scaleByFrequency) {
  at::checkScalarTypes("embedding_backward", at::TensorArg(indices, "indices", 2), {at::kLong, at::kInt});
  const auto columns = gradOutput.size(-1);
  TORCH_CHECK(
      gradOutput.numel() == indices.numel() * columns, "embedding_backward: expected a gradient row for each of the ",
      indices.numel(), " indices, but got a gradient of size ", gradOutput.sizes());
  auto result = at::empty({rows, columns}, gradOutput.options());
  EmbeddingBackwardArgs args{};
  args.count = indices.numel();
  args.rows = rows;
  args.columns = columns;
  args.paddingIndex = paddingIndex;
  const auto frequencies = scaleByFrequency ? at::empty({rows}, gradOutput.options().dtype(at::kLong)) : at::Tensor();
  const ArrayOutput output(result);
  launchOverArrays(
      kernelFamily<"embedding_backward">, gradOutput, args,
      {reads("grad_output", &EmbeddingBackwardArgs::grad, gradOutput),
       reads("indices", &EmbeddingBackwardArgs::indices, indices, Fit::Computed),
       writes("result", &EmbeddingBackwardArgs::result, output),
       writes("frequencies", &EmbeddingBackwardArgs::frequencies, frequencies)});
  output.finish();
  return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"embedding_dense_backward", embeddingBackward>(m);
}

} // namespace
} // namespace openreg
