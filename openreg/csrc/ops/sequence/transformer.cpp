// What torch.nn's transformer layers call in evaluation: PyTorch's own functions, which serve any device, and the
// operators that these are made of.
#include "ops/launch/arrays.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <kernels/sequence/split_heads.h>

#include <ATen/ops/_addmm_activation_meta.h>
#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace openreg {
namespace {

using kernels::SplitHeadsArgs;

struct AddedProductActivation : at::meta::structured__addmm_activation {
  void impl(
      const at::Tensor& self,
      const at::Tensor& mat1,
      const at::Tensor& mat2,
      const at::Scalar& beta,
      const at::Scalar& alpha,
      bool useGelu,
      const at::Tensor& out) {
    auto result = out;
    at::addmm_out(result, self, mat1, mat2, beta, alpha);
    useGelu ? at::gelu_(result) : at::relu_(result);
  }
};

/// The mask in the shape of the scores. Types: 0, of all pairs of positions; 1, of the keys of each sample; 2, of all.
at::Tensor expandMask(const at::Tensor& self, const at::Tensor& mask, std::optional<int64_t> type) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "Mask should be a boolean tensor");
  const auto sizes = mask.sizes();
  if (sizes == self.sizes() && type.value_or(2) > 1) {
    return mask;
  }
  TORCH_CHECK(type.has_value(), "Mask Type should be defined");
  TORCH_CHECK(
      *type >= 0 && *type <= 2, "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)");
  TORCH_CHECK(*type != 2, "For mask_type == 2 mask shape should match input shape");
  if (sizes == self.sizes()) {
    return mask;
  }
  TORCH_CHECK(self.dim() == 4, "Mask types 0 and 1 need an input of 4 dimensions, but got one of ", self.dim());
  const auto batch = self.size(0), positions = self.size(2);
  if (*type == 0) {
    TORCH_CHECK(
        mask.dim() == 2 && sizes[0] == positions && sizes[1] == positions,
        "For mask_type == 0 mask shape should be (L, L)");
    return mask;
  }
  TORCH_CHECK(
      mask.dim() == 2 && sizes[0] == batch && sizes[1] == positions, "For mask_type == 1 mask shape should be (B, L)");
  return mask.view({batch, 1, 1, positions});
}

at::Tensor maskedSoftmax(
    const at::Tensor& self, const at::Tensor& mask, std::optional<int64_t> dim, std::optional<int64_t> maskType) {
  const auto open = self.masked_fill(expandMask(self, mask, maskType), -std::numeric_limits<double>::infinity());
  return at::_softmax(open, dim.value_or(self.dim() - 1), /*half_to_float=*/false);
}

at::Tensor maskedSoftmaxBackward(
    const at::Tensor& grad, const at::Tensor& output, const at::Tensor& mask, std::optional<int64_t> dim) {
  const auto gradOpen = at::_softmax_backward_data(grad, output, dim.value_or(output.dim() - 1), output.scalar_type());
  return gradOpen.masked_fill_(mask, 0);
}

/// Queries, keys and values out of one product: with the bias added, head by head, and the queries scaled.
std::tuple<at::Tensor, at::Tensor, at::Tensor>
splitHeads(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  TORCH_CHECK(qkv.dim() == 3, "_transform_bias_rescale_qkv: expected 3 dimensions, but got ", qkv.sizes());
  TORCH_CHECK(
      qkv.size(2) % (3 * heads) == 0, "_transform_bias_rescale_qkv: expected rows of 3 times ", heads, " parts, ",
      "but got ", qkv.size(2), " numbers");
  SplitHeadsArgs args{};
  args.batch = qkv.size(0);
  args.length = qkv.size(1);
  args.heads = heads;
  args.size = qkv.size(2) / 3 / heads;
  args.scale = 1.0 / std::sqrt(static_cast<double>(args.size));
  const auto parts = at::empty({3, args.batch, heads, args.length, args.size}, qkv.options());
  const ArrayOutput output(parts);
  launchOverArrays(
      kernelFamily<"split_heads">, qkv, args,
      {reads("qkv", &SplitHeadsArgs::rows, qkv), reads("qkv_bias", &SplitHeadsArgs::bias, bias.expand({qkv.size(2)})),
       writes("out", &SplitHeadsArgs::out, output)});
  output.finish();
  return {parts.select(0, 0), parts.select(0, 1), parts.select(0, 2)};
}

/// torch.nn.TransformerEncoder asks this before it makes a nested tensor of what is not masked. There are none on this
/// device; after a no it goes on with the mask.
bool canBeNested(const at::Tensor& /*self*/, const at::Tensor& /*mask*/) {
  return false;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_transformer_encoder_layer_fwd", at::native::transformer_encoder_layer_forward>(m);
  implPlain<"_native_multi_head_attention", at::native::native_multi_head_attention_cpu>(m);
  implPlain<"_transform_bias_rescale_qkv", splitHeads>(m);
  implPlain<"_masked_softmax", maskedSoftmax>(m);
  implPlain<"_masked_softmax_backward", maskedSoftmaxBackward>(m);
  implPlain<"_nested_tensor_from_mask_left_aligned", canBeNested>(m);
  implForms<Structured<AddedProductActivation, "_addmm_activation.out">>(m, "_addmm_activation", {"", "out"});
}

} // namespace
} // namespace openreg
