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

const KernelFamily kNorm0("norm_0");
const KernelFamily kNorm1("norm_1");
const KernelFamily kNorm2("norm_2");
const KernelFamily kNormP("norm_p");
const KernelFamily kNormInfinity("norm_inf");
const KernelFamily kNormMinusInfinity("norm_minus_inf");

void normKernel(at::TensorIterator& iter, const c10::Scalar& order) {
  const auto p = order.to<double>();
  if (iter.numel() == 0) { // then there is no kernel that could store what the norm of nothing is
    iter.output().fill_(p < 0 ? std::numeric_limits<double>::infinity() : 0.0);
  } else if (std::isinf(p)) {
    launchReduce(p > 0 ? kNormInfinity : kNormMinusInfinity, iter);
  } else if (p == 0.0) {
    launchReduce(kNorm0, iter);
  } else if (p == 1.0 || p == 2.0) {
    launchReduce(p == 1.0 ? kNorm1 : kNorm2, iter);
  } else {
    launchReduce(kNormP, iter, {p});
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_linalg_vector_norm_out, "aten::linalg_vector_norm.out">>(
      m, "linalg_vector_norm");
  implForms<Structured<at::native::structured_norm_out, "aten::norm.out">>(m, "norm", {"ScalarOpt_dim", "out"});
  implForms<Structured<at::native::structured_norm_dtype_out, "aten::norm.dtype_out">>(
      m, "norm", {"ScalarOpt_dim_dtype", "dtype_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(norm_stub, &openreg::normKernel)
} // namespace at::native
