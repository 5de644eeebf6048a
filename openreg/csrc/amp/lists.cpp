// Which operator autocast runs in which type: PyTorch's lists for devices that are fast in half precision, but for
// what a comment names. A test compares them with those of the PyTorch that is installed.
#include "amp/policies.h"

#include <torch/library.h>

#include <initializer_list>

namespace openreg {
namespace {

// LITERALINCLUDE START: AMP IMPL ALL
/// One function is registered for all operators of a list: it gets the arguments of any of them as a stack of values.
template <void policy(const c10::OperatorHandle&, torch::jit::Stack*)>
void implAll(torch::Library& m, std::initializer_list<const char*> operators) {
  for (const char* op : operators) {
    m.impl(op, torch::CppFunction::makeFromBoxedFunction<policy>());
  }
}
// LITERALINCLUDE END: AMP IMPL ALL

// LITERALINCLUDE START: AMP FALLTHROUGH
// An operator of no list passes: it runs in the type of what it is given. Without this line it is an error.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}
// LITERALINCLUDE END: AMP FALLTHROUGH

// LITERALINCLUDE START: AMP LOWER
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  // Products: most of the work, and hardware is made for them.
  implAll<runInLowerPrecision>(
      m, {"_convolution",
          "_convolution.deprecated",
          "conv1d",
          "conv2d",
          "conv3d",
          "conv_tbc",
          "conv_transpose1d",
          "conv_transpose2d.input",
          "conv_transpose3d.input",
          "convolution",
          "prelu",
          "addmm",
          "addmv",
          "addr",
          "matmul",
          "einsum",
          "mm",
          "mv",
          "linalg_vecdot",
          "linear",
          "addbmm",
          "baddbmm",
          "bmm",
          "chain_matmul",
          "linalg_multi_dot",
          "_thnn_fused_lstm_cell",
          "_thnn_fused_gru_cell",
          "lstm_cell",
          "gru_cell",
          "rnn_tanh_cell",
          "rnn_relu_cell",
          "_scaled_dot_product_flash_attention",
          "scaled_dot_product_attention"});
}
// LITERALINCLUDE END: AMP LOWER

// LITERALINCLUDE START: AMP FLOAT
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  implAll<runInFloat>(
      m, {// Functions that are steep somewhere, or leave the range of a half.
          "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
          "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus",
          // Sums of many numbers, or of squares.
          "layer_norm", "native_layer_norm", "rms_norm", "group_norm", "frobenius_norm.dim", "nuclear_norm",
          "nuclear_norm.dim", "cosine_similarity", "dist", "pdist", "cdist", "renorm", "logsumexp",
          // A sum of products that is one number in the end. CUDA has these two in the last list.
          "dot", "vdot",
          // Losses: one number, out of which all gradients come.
          "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div",
          "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
          "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits",
          // Weighted means of pixels, whose backward pass adds up.
          "upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d", "_upsample_nearest_exact2d",
          "upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
          "_upsample_bilinear2d_aa", "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bicubic2d_aa"});
  implAll<askForFloat>(
      m, {"prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm",
          "linalg_matrix_norm", "linalg_matrix_norm.str_ord", "sum", "sum.dim_IntList"});
  implAll<askNormForFloat>(m, {"norm.Scalar", "norm.ScalarOpt_dim"});
}
// LITERALINCLUDE END: AMP FLOAT

// LITERALINCLUDE START: AMP WIDEST
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  // Operators of several tensors that promote no types themselves. Those that do, such as add and cat, need no rule.
  implAll<runInWidest>(
      m, {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "grid_sampler", "index_put", "tensordot", "scatter_add"});
  implAll<refuseToAutocast>(m, {"binary_cross_entropy"});
}
// LITERALINCLUDE END: AMP WIDEST

} // namespace
} // namespace openreg
