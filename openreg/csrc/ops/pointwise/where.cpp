// Choosing by a condition.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/TensorCompare.h>
#include <ATen/ops/where_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void whereKernel(at::TensorIterator& iter) {
  launchElementwise(kernelFamily<"where">, iter, iter.dtype(0)); // the condition has another type
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(
      m, "where.self",
      static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&)>(at::native::where));
  implNative(m, "where.self_out", at::native::where_self_out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(where_kernel, &openreg::whereKernel)
} // namespace at::native
