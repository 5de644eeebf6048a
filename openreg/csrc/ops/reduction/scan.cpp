// Cumulative sums, products, logarithms of sums, largest and smallest elements.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel_family.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <kernels/launch/pointers.h>
#include <kernels/reduction/scan.h>

#include <ATen/WrapDimUtils.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_cummax_helper_native.h>
#include <ATen/ops/_cummin_helper_native.h>
#include <ATen/ops/_logcumsumexp_native.h>
#include <ATen/ops/cumprod_native.h>
#include <ATen/ops/cumsum_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: SCAN
/// Goes along `dim` of `self`. `indices` may be undefined. Kernels want contiguous memory.
void scan(
    const KernelFamily& family,
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& values,
    const at::Tensor& indices = {}) {
  const auto device = self.device().index();
  const auto& kernel = family.get(self.scalar_type(), device);
  dim = c10::maybe_wrap_dim(dim, self.dim());
  if (self.numel() == 0) {
    return;
  }
  const auto input = self.contiguous();
  const ContiguousOutput valuesOut(values), indicesOut(indices);
  const auto& writtenValues = valuesOut.tensor();
  const auto& writtenIndices = indicesOut.tensor();
  kernels::ScanArgs args{};
  args.values = writtenValues.mutable_data_ptr();
  args.indices = indices.defined() ? writtenIndices.mutable_data_ptr() : nullptr;
  args.input = input.const_data_ptr();
  args.size = self.dim() == 0 ? 1 : self.size(dim);
  args.inner = self.dim() == 0 ? 1 : c10::multiply_integers(self.sizes().slice(dim + 1));
  args.outer = self.numel() / (args.size * args.inner);
  args.valueType = kernelDType(values.scalar_type(), family.name());
  args.inputType = kernelDType(self.scalar_type(), family.name());
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::ScanArgs, values), orAccessWrite, writtenValues.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::ScanArgs, input), orAccessRead, input.nbytes()),
      kernels::contiguousPointer(
          offsetof(kernels::ScanArgs, indices), orAccessWrite, indices.defined() ? writtenIndices.nbytes() : 0),
  };
  launch(kernel, device, args, std::span(pointers).first(indices.defined() ? 3 : 2));
  valuesOut.finish();
  indicesOut.finish();
}
// LITERALINCLUDE END: SCAN

void cumulativeSumKernel(const at::Tensor& result, const at::Tensor& self, int64_t dim) {
  scan(kernelFamily<"cumsum">, self, dim, result);
}
void productKernel(const at::Tensor& result, const at::Tensor& self, int64_t dim) {
  scan(kernelFamily<"cumprod">, self, dim, result);
}
void logSumExpKernel(at::Tensor& result, const at::Tensor& self, int64_t dim) {
  at::native::resize_output(result, self.sizes()); // no meta function has done it
  scan(kernelFamily<"logcumsumexp">, self, dim, result);
}
void largest(const at::Tensor& self, at::Tensor& values, at::Tensor& indices, int64_t dim) {
  scan(kernelFamily<"cummax">, self, dim, values, indices);
}
void smallest(const at::Tensor& self, at::Tensor& values, at::Tensor& indices, int64_t dim) {
  scan(kernelFamily<"cummin">, self, dim, values, indices);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_cumsum_out, "cumsum.out">>(m, "cumsum");
  implForms<Structured<at::native::structured_cumprod_out, "cumprod.out">>(m, "cumprod");
  implPlain<"_logcumsumexp", at::native::_logcumsumexp_cpu>(m);
  implPlain<"_logcumsumexp.out", at::native::_logcumsumexp_out_cpu>(m);
  implPlain<"_cummax_helper", largest>(m);
  implPlain<"_cummin_helper", smallest>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cumsum_stub, &openreg::cumulativeSumKernel)
REGISTER_PRIVATEUSE1_DISPATCH(cumprod_stub, &openreg::productKernel)
REGISTER_PRIVATEUSE1_DISPATCH(logcumsumexp_stub, &openreg::logSumExpKernel)
} // namespace at::native
