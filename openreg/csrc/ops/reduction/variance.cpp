// Variances and standard deviations, with the mean or without.
#include "ops/reduction/reduce.h"
#include "ops/structured/native.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/std_mean_native.h>
#include <ATen/ops/std_native.h>
#include <ATen/ops/var_mean_native.h>
#include <ATen/ops/var_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void varianceKernel(at::TensorIterator& iter, double correction, bool takeRoot) {
  launchReduce(iter.noutputs() == 2 ? kernelFamily<"var_mean"> : kernelFamily<"var">, iter, {correction, takeRoot});
}

using Dims = at::OptionalIntArrayRef;
using Correction = const std::optional<at::Scalar>&;
using One = at::Tensor (*)(const at::Tensor&, Dims, Correction, bool);
using Out = at::Tensor& (*)(const at::Tensor&, Dims, Correction, bool, at::Tensor&);
using Two = std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&, Dims, Correction, bool);

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "var.correction", static_cast<One>(at::native::var));
  implNative(m, "var.correction_out", static_cast<Out>(at::native::var_out));
  implNative(m, "std.correction", static_cast<One>(at::native::std));
  implNative(m, "std.correction_out", static_cast<Out>(at::native::std_out));
  implNative(m, "var_mean.correction", static_cast<Two>(at::native::var_mean));
  implNative(m, "std_mean.correction", static_cast<Two>(at::native::std_mean));
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(std_var_stub, &openreg::varianceKernel)
} // namespace at::native
