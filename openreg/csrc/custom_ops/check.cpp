// What the operators' arguments have to be, whichever device they are on.
#include "custom_ops/rms_norm.h"

#include <c10/core/SymBool.h>
#include <c10/util/Exception.h>

namespace openreg {

at::ScalarType sumType(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

// LITERALINCLUDE START: OWN CHECKS
void checkRmsNorm(const char* op, const at::Tensor& input, const at::Tensor& weight, double eps) {
  const auto type = input.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16, "openreg::", op,
      ": argument 'input' is of type ", type, "; expected Float, Double, Half or BFloat16");
  TORCH_CHECK(
      weight.scalar_type() == type || (at::isReducedFloatingType(type) && weight.scalar_type() == at::kFloat),
      "openreg::", op, ": argument 'weight' is of type ", weight.scalar_type(), "; expected ", type,
      at::isReducedFloatingType(type) ? " or Float" : "");
  TORCH_CHECK(
      input.dim() > 0, "openreg::", op,
      ": argument 'input' has no dimension; expected one at least, the last of which "
      "is normalised");
  // While a graph is captured, a size may be a symbol, and a comparison becomes a condition of the graph.
  TORCH_CHECK(
      weight.dim() == 1 && weight.sym_size(0) == input.sym_size(-1), "openreg::", op,
      ": argument 'weight' is of shape ", weight.sym_sizes(), "; expected [", input.sym_size(-1),
      "], the last dimension of 'input'");
  TORCH_CHECK(eps >= 0, "openreg::", op, ": argument 'eps' is ", eps, "; expected 0 or more");
}
// LITERALINCLUDE END: OWN CHECKS

void checkAlike(const char* op, const char* name, const at::Tensor& tensor, const char* like, const at::Tensor& other) {
  TORCH_CHECK(
      tensor.scalar_type() == other.scalar_type(), "openreg::", op, ": argument '", name, "' is of type ",
      tensor.scalar_type(), "; expected ", other.scalar_type(), ", as '", like, "' is");
  TORCH_CHECK(
      tensor.sym_sizes() == other.sym_sizes(), "openreg::", op, ": argument '", name, "' is of shape ",
      tensor.sym_sizes(), "; expected ", other.sym_sizes(), ", as '", like, "' is");
}

void checkRmsNormOut(const at::Tensor& input, const at::Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == input.scalar_type() && out.device() == input.device(),
      "openreg::rms_norm: argument 'out' is of type ", out.scalar_type(), " on ", out.device(), "; expected ",
      input.scalar_type(), " on ", input.device(), ", as 'input' is");
}

void checkRmsNormBackward(
    const at::Tensor& gradOutput, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& rstd) {
  constexpr auto kOp = "rms_norm_backward";
  checkRmsNorm(kOp, input, weight, /*eps=*/0);
  checkAlike(kOp, "grad_output", gradOutput, "input", input);
  auto sizes = input.sym_sizes().vec();
  sizes.back() = 1;
  TORCH_CHECK(
      rstd.scalar_type() == sumType(input.scalar_type()) && rstd.sym_sizes() == c10::SymIntArrayRef(sizes),
      "openreg::", kOp, ": argument 'rstd' is of type ", rstd.scalar_type(), " and shape ", rstd.sym_sizes(),
      "; expected ", sumType(input.scalar_type()), " and ", c10::SymIntArrayRef(sizes),
      ", what rms_norm_forward returned");
}

} // namespace openreg
