// Norms of vectors.
#include "ops/reduction/reduce.h"
#include "ops/structured/forms.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/linalg_vector_norm_native.h>
#include <ATen/ops/norm_native.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

namespace openreg {
namespace {

void normKernel(at::TensorIterator& iter, const c10::Scalar& order) {
  const auto p = order.to<double>();
  if (iter.numel() == 0) { // then there is no kernel that could store what the norm of nothing is
    iter.output().fill_(p < 0 ? std::numeric_limits<double>::infinity() : 0.0);
  } else if (std::isinf(p)) {
    launchReduce(p > 0 ? kernelFamily<"norm_inf"> : kernelFamily<"norm_minus_inf">, iter);
  } else if (p == 0.0) {
    launchReduce(kernelFamily<"norm_0">, iter);
  } else if (p == 1.0 || p == 2.0) {
    launchReduce(p == 1.0 ? kernelFamily<"norm_1"> : kernelFamily<"norm_2">, iter);
  } else {
    launchReduce(kernelFamily<"norm_p">, iter, {p});
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_linalg_vector_norm_out, "linalg_vector_norm.out">>(
      m, "linalg_vector_norm");
  implForms<Structured<at::native::structured_norm_out, "norm.out">>(m, "norm", {"ScalarOpt_dim", "out"});
  implForms<Structured<at::native::structured_norm_dtype_out, "norm.dtype_out">>(
      m, "norm", {"ScalarOpt_dim_dtype", "dtype_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(norm_stub, &openreg::normKernel)
} // namespace at::native
