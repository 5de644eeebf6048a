// When attention is one kernel, and when PyTorch's math path.
#include "ops/sequence/attention_choice.h"

#include "ops/launch/kernel_family.h"
#include "ops/structured/native.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

#include <array>

namespace openreg {
namespace {

/// Whether a mask is what the kernel reads: one number for each pair of query and key, with broadcasting.
bool fitsMask(const at::Tensor& mask, const at::Tensor& query, const at::Tensor& key) {
  const std::array<c10::SymInt, 4> pairs = {query.sym_size(0), query.sym_size(1), query.sym_size(2), key.sym_size(2)};
  if (mask.dim() > 4 || mask.requires_grad() || (mask.scalar_type() != at::kBool && mask.dtype() != query.dtype())) {
    return false;
  }
  for (int64_t i = 1; i <= mask.dim(); ++i) {
    if (mask.sym_size(-i) != 1 && mask.sym_size(-i) != pairs[4 - static_cast<size_t>(i)]) {
      return false;
    }
  }
  return true;
}

} // namespace

// LITERALINCLUDE START: ATTENTION CHOICE
// A compiler asks, too, with tensors whose sizes are symbols (chapter 17): sym_size() serves these and numbers.
bool fitsAttention(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& mask,
    double dropout,
    bool causal,
    bool sharesKeys) {
  for (const auto* tensor : {&query, &key, &value}) {
    if (tensor->dim() != 4 || tensor->sym_numel() == 0 || tensor->layout() != at::kStrided ||
        tensor->device() != query.device() || tensor->dtype() != query.dtype() ||
        tensor->sym_size(0) != query.sym_size(0)) {
      return false;
    }
  }
  const auto heads = query.sym_size(1), keyHeads = key.sym_size(1);
  return value.sym_size(1) == keyHeads && (heads == keyHeads || (sharesKeys && heads % keyHeads == 0)) &&
         query.sym_size(3) == key.sym_size(3) && value.sym_size(2) == key.sym_size(2) && dropout >= 0 && dropout < 1 &&
         (!mask.has_value() || (!causal && fitsMask(*mask, query, key))) && at::isFloatingType(query.scalar_type()) &&
         kernelFamily<"attention">.find(query.scalar_type(), query.device().index()) != nullptr &&
         kernelFamily<"attention_backward">.find(query.scalar_type(), query.device().index()) != nullptr;
}
// LITERALINCLUDE END: ATTENTION CHOICE

namespace {

// LITERALINCLUDE START: ATTENTION CHOICE
int64_t chooseAttention(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const std::optional<at::Tensor>& mask,
    double dropout,
    bool causal,
    std::optional<double> /*scale*/,
    bool sharesKeys) {
  const auto& context = at::globalContext();
  auto choice = context.userEnabledMathSDP() ? at::SDPBackend::math : at::SDPBackend::error;
  if (context.userEnabledOverrideableSDP() && fitsAttention(query, key, value, mask, dropout, causal, sharesKeys)) {
    choice = at::SDPBackend::overrideable;
  }
  return static_cast<int64_t>(choice);
}
// LITERALINCLUDE END: ATTENTION CHOICE

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "_fused_sdp_choice", chooseAttention);
}

} // namespace

} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &openreg::chooseAttention)
} // namespace at::native
