// Composite operators of PyTorch that read memory on the host: they go to the CPU by name.
#include "fallback/fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/reshape.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: HOST READERS
// A composite operator is said to be written in terms of other operators, and so to fit every backend. These take
// data_ptr() and read it, which a device pointer doesn't survive; that is found by calling each operator once. Their
// .out forms call them, and need no names of their own.
constexpr const char* kHostReaders[] = {
    "_grid_sampler_2d_cpu_fallback",
    "_grid_sampler_2d_cpu_fallback_backward",
    "_nnpack_spatial_convolution",
    "_rowwise_prune",
    "_saturate_weight_to_fp16",
    "_sobol_engine_draw",
    "_sobol_engine_ff_",
    "_sobol_engine_initialize_state_",
    "_sobol_engine_scramble_",
    "choose_qparams_optimized",
    "fbgemm_linear_quantize_weight",
    "fbgemm_pack_gemm_matrix_fp16",
    "mkldnn_convolution",
    "range.out_",
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const auto* name : kHostReaders) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

/// Reads the shape only, and its result is a view: which a copy on the CPU cannot be.
at::Tensor reshapeFromTensor(const at::Tensor& self, const at::Tensor& shape) {
  TORCH_CHECK(
      shape.dim() == 1 && shape.scalar_type() == at::kLong,
      "_reshape_from_tensor: expected 'shape' to be a vector of int64, but got ", shape.dim(), " dimensions of ",
      shape.scalar_type());
  const auto numbers = shape.cpu().contiguous();
  return at::reshape(self, at::IntArrayRef(numbers.const_data_ptr<int64_t>(), numbers.numel()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_reshape_from_tensor", reshapeFromTensor);
}

// Above autograd, too: else a warning in backward says that an operator with a kernel of the backend has no gradient.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_reshape_from_tensor", reshapeFromTensor);
}
// LITERALINCLUDE END: HOST READERS

} // namespace
} // namespace openreg
