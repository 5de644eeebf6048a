// Operators over lists of tensors, as optimizers use them. What kernels cannot take goes tensor by tensor, through
// PyTorch's own functions.
#include "ops/structured/native.h"
#include "ops/structured/structured.h"
#include "ops/training/foreach_call.h"

#include <ATen/ops/_foreach_abs_native.h>
#include <ATen/ops/_foreach_add_native.h>
#include <ATen/ops/_foreach_addcdiv_native.h>
#include <ATen/ops/_foreach_addcmul_native.h>
#include <ATen/ops/_foreach_clamp_max_native.h>
#include <ATen/ops/_foreach_clamp_min_native.h>
#include <ATen/ops/_foreach_copy_native.h>
#include <ATen/ops/_foreach_div_native.h>
#include <ATen/ops/_foreach_exp_native.h>
#include <ATen/ops/_foreach_lerp_native.h>
#include <ATen/ops/_foreach_log_native.h>
#include <ATen/ops/_foreach_mul_native.h>
#include <ATen/ops/_foreach_neg_native.h>
#include <ATen/ops/_foreach_pow_native.h>
#include <ATen/ops/_foreach_reciprocal_native.h>
#include <ATen/ops/_foreach_rsqrt_native.h>
#include <ATen/ops/_foreach_sigmoid_native.h>
#include <ATen/ops/_foreach_sign_native.h>
#include <ATen/ops/_foreach_sqrt_native.h>
#include <ATen/ops/_foreach_sub_native.h>
#include <ATen/ops/_foreach_tanh_native.h>
#include <ATen/ops/_foreach_zero_native.h>
#include <torch/library.h>

#include <type_traits>
#include <utility>

namespace openreg {
namespace {

/// How an operator's arguments go to the kernel.
enum class Pass {
  Operands,   ///< All are operands, numbers too: `x * 3`.
  Rounded,    ///< The same, and numbers are rounded to the tensors' type first, as `pow` does it.
  Parameters, ///< Numbers are the functor's field: `lerp`'s weight.
  Overwrite,  ///< The first list is the output, and no operand.
};

// LITERALINCLUDE START: FOREACH OPERATOR
/// An operator over lists: `slow` is PyTorch's function for it.
/// @tparam factor Of the functor that has a factor for its second operand: 1 for sums, -1 for differences.
template <Name family, Pass pass, int factor, auto slow>
struct Foreach;

template <Name family, Pass pass, int factor, class Result, class... A, Result (*slow)(A...)>
struct Foreach<family, pass, factor, slow> {
  static Result call(A... arguments) {
    ForeachCall call(kernelFamily<family>);
    if constexpr (pass == Pass::Overwrite) {
      call.overwriteFirst();
    }
    if constexpr (pass == Pass::Rounded) {
      call.roundNumbers();
    }
    if constexpr (factor != 0) {
      call.parameter(c10::Scalar(factor)); // unless one is among the arguments
    }
    (take(call, arguments), ...);
    if constexpr (std::is_void_v<Result>) {
      if (!call.inPlace()) {
        slow(arguments...);
      }
    } else {
      auto results = call.results();
      return results.has_value() ? std::move(*results) : slow(arguments...);
    }
  }

 private:
  /// Sums of two lists have a factor, sums with numbers have none.
  static constexpr bool kHasFactor = factor != 0 && sizeof...(A) == 3;

  template <class T>
  static void take(ForeachCall& call, const T& argument) {
    if constexpr (std::is_same_v<T, bool>) {
      // `non_blocking`: it never does
    } else if constexpr (kHasFactor && std::is_same_v<T, c10::Scalar>) {
      call.parameter(argument, factor);
    } else if constexpr (
        pass == Pass::Parameters && (std::is_same_v<T, c10::Scalar> || std::is_same_v<T, at::ArrayRef<c10::Scalar>>)) {
      call.parameter(argument);
    } else {
      call.operand(argument);
    }
  }
};
// LITERALINCLUDE END: FOREACH OPERATOR

// Both forms of an operator: one that makes new tensors, one in place, whose names end in a "_" in front of `overload`.
#define OPENREG_FOREACH(op, overload, slow, family, ...)                                                               \
  implNative(m, "_foreach_" op overload, Foreach<"foreach_" family, __VA_ARGS__, &at::native::slow>::call);            \
  implNative(m, "_foreach_" op "_" overload, Foreach<"foreach_" family, __VA_ARGS__, &at::native::slow##_>::call)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using enum Pass;
  OPENREG_FOREACH("add", ".List", foreach_tensor_add_list_kernel_slow, "add", Operands, 1);
  OPENREG_FOREACH("add", ".Scalar", foreach_tensor_add_scalar_kernel_slow, "add", Operands, 1);
  OPENREG_FOREACH("add", ".ScalarList", foreach_tensor_add_scalarlist_kernel_slow, "add", Operands, 1);
  OPENREG_FOREACH("add", ".Tensor", foreach_tensor_add_tensor_kernel_slow, "add", Operands, 1);
  OPENREG_FOREACH("sub", ".List", foreach_tensor_sub_list_kernel_slow, "add", Operands, -1);
  OPENREG_FOREACH("sub", ".Scalar", foreach_tensor_sub_scalar_kernel_slow, "add", Operands, -1);
  OPENREG_FOREACH("sub", ".ScalarList", foreach_tensor_sub_scalarlist_kernel_slow, "add", Operands, -1);
  OPENREG_FOREACH("mul", ".List", foreach_tensor_mul_list_kernel_slow, "mul", Operands, 0);
  OPENREG_FOREACH("mul", ".Scalar", foreach_tensor_mul_scalar_kernel_slow, "mul", Operands, 0);
  OPENREG_FOREACH("mul", ".ScalarList", foreach_tensor_mul_scalarlist_kernel_slow, "mul", Operands, 0);
  OPENREG_FOREACH("mul", ".Tensor", foreach_tensor_mul_tensor_kernel_slow, "mul", Operands, 0);
  OPENREG_FOREACH("div", ".List", foreach_tensor_div_list_kernel_slow, "div", Operands, 0);
  OPENREG_FOREACH("div", ".Scalar", foreach_tensor_div_scalar_kernel_slow, "div", Operands, 0);
  OPENREG_FOREACH("div", ".ScalarList", foreach_tensor_div_scalarlist_kernel_slow, "div", Operands, 0);
  OPENREG_FOREACH("div", ".Tensor", foreach_tensor_div_tensor_kernel_slow, "div", Operands, 0);
  OPENREG_FOREACH("lerp", ".List", foreach_tensor_ternary_lerp_slow, "lerp_tensor", Operands, 0);
  OPENREG_FOREACH("lerp", ".Scalar", foreach_tensor_lerp_list_kernel_slow, "lerp_scalar", Parameters, 0);
  OPENREG_FOREACH("lerp", ".ScalarList", foreach_tensor_lerp_scalarlist_kernel_slow, "lerp_scalar", Parameters, 0);
  OPENREG_FOREACH("addcmul", ".Scalar", foreach_tensor_addcmul_scalar_slow, "addcmul", Parameters, 0);
  OPENREG_FOREACH("addcmul", ".ScalarList", foreach_tensor_addcmul_scalarlist_slow, "addcmul", Parameters, 0);
  OPENREG_FOREACH("addcdiv", ".Scalar", foreach_tensor_addcdiv_scalar_slow, "addcdiv", Parameters, 0);
  OPENREG_FOREACH("addcdiv", ".ScalarList", foreach_tensor_addcdiv_scalarlist_slow, "addcdiv", Parameters, 0);
  // PyTorch has one function for limits and for the larger of two.
  OPENREG_FOREACH("maximum", ".List", foreach_tensor_clamp_min_list_kernel_slow, "maximum", Operands, 0);
  OPENREG_FOREACH("minimum", ".List", foreach_tensor_clamp_max_list_kernel_slow, "minimum", Operands, 0);
  OPENREG_FOREACH("clamp_min", ".List", foreach_tensor_clamp_min_list_kernel_slow, "maximum", Operands, 0);
  OPENREG_FOREACH("clamp_max", ".List", foreach_tensor_clamp_max_list_kernel_slow, "minimum", Operands, 0);
  OPENREG_FOREACH("maximum", ".Scalar", foreach_tensor_clamp_min_scalar_kernel_slow, "clamp_min", Parameters, 0);
  OPENREG_FOREACH(
      "maximum", ".ScalarList", foreach_tensor_clamp_min_scalarlist_kernel_slow, "clamp_min", Parameters, 0);
  OPENREG_FOREACH("minimum", ".Scalar", foreach_tensor_clamp_max_scalar_kernel_slow, "clamp_max", Parameters, 0);
  OPENREG_FOREACH(
      "minimum", ".ScalarList", foreach_tensor_clamp_max_scalarlist_kernel_slow, "clamp_max", Parameters, 0);
  OPENREG_FOREACH("clamp_min", ".Scalar", foreach_tensor_clamp_min_scalar_kernel_slow, "clamp_min", Parameters, 0);
  OPENREG_FOREACH(
      "clamp_min", ".ScalarList", foreach_tensor_clamp_min_scalarlist_kernel_slow, "clamp_min", Parameters, 0);
  OPENREG_FOREACH("clamp_max", ".Scalar", foreach_tensor_clamp_max_scalar_kernel_slow, "clamp_max", Parameters, 0);
  OPENREG_FOREACH(
      "clamp_max", ".ScalarList", foreach_tensor_clamp_max_scalarlist_kernel_slow, "clamp_max", Parameters, 0);
  implNative(
      m, "_foreach_pow.ScalarAndTensor",
      Foreach<"foreach_pow", Rounded, 0, &at::native::foreach_scalar_pow_list_kernel_slow>::call);
  implNative(
      m, "_foreach_copy_",
      Foreach<"foreach_cast", Overwrite, 0, &at::native::foreach_tensor_copy_list_kernel_slow_>::call);
  implNative(m, "_foreach_zero_", Foreach<"foreach_zeros", Operands, 0, &at::native::foreach_tensor_zero_slow_>::call);
  OPENREG_FOREACH("abs", "", foreach_tensor_abs_slow, "abs", Operands, 0);
  OPENREG_FOREACH("exp", "", foreach_tensor_exp_slow, "exp", Operands, 0);
  OPENREG_FOREACH("log", "", foreach_tensor_log_slow, "log", Operands, 0);
  OPENREG_FOREACH("neg", "", foreach_tensor_neg_slow, "neg", Operands, 0);
  OPENREG_FOREACH("reciprocal", "", foreach_tensor_reciprocal_slow, "reciprocal", Operands, 0);
  OPENREG_FOREACH("rsqrt", "", foreach_tensor_rsqrt_slow, "rsqrt", Operands, 0);
  OPENREG_FOREACH("sigmoid", "", foreach_tensor_sigmoid_slow, "sigmoid", Operands, 0);
  OPENREG_FOREACH("sign", "", foreach_tensor_sign_slow, "sign", Operands, 0);
  OPENREG_FOREACH("sqrt", "", foreach_tensor_sqrt_slow, "sqrt", Operands, 0);
  OPENREG_FOREACH("tanh", "", foreach_tensor_tanh_slow, "tanh", Operands, 0);
}
#undef OPENREG_FOREACH

} // namespace
} // namespace openreg
