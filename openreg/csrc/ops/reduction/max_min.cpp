// Largest and smallest elements, and where they are.
#include "ops/reduction/reduce_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/ReduceAllOps.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/amax_native.h>
#include <ATen/ops/amin_native.h>
#include <ATen/ops/aminmax_native.h>
#include <ATen/ops/argmin_native.h>
#include <ATen/ops/max_meta.h>
#include <ATen/ops/max_native.h>
#include <ATen/ops/min_meta.h>
#include <ATen/ops/min_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void largestOfAllKernel(at::Tensor& result, const at::Tensor& self) {
  const auto iter = at::meta::make_reduction(self, result, at::IntArrayRef(), false, self.scalar_type());
  launchReduce(kernelFamily<"amax">, iter);
}
void smallestOfAllKernel(at::Tensor& result, const at::Tensor& self) {
  const auto iter = at::meta::make_reduction(self, result, at::IntArrayRef(), false, self.scalar_type());
  launchReduce(kernelFamily<"amin">, iter);
}

// LITERALINCLUDE START: REDUCE INTO TWO
/// Reduces `self` along dimensions into two tensors, which may differ in type and strides.
void reduceIntoTwo(
    const KernelFamily& family,
    const at::Tensor& self,
    at::OptionalIntArrayRef dims,
    bool keepdim,
    const at::Tensor& first,
    const at::Tensor& second) {
  const auto mask = at::native::make_dim_mask(dims, self.dim());
  const auto iter =
      at::TensorIteratorConfig()
          .set_check_mem_overlap(false) // an output looks as if it overlapped itself where it is reduced
          .add_owned_output(at::native::review_reduce_result(first, static_cast<int>(self.dim()), mask, keepdim))
          .add_owned_output(at::native::review_reduce_result(second, static_cast<int>(self.dim()), mask, keepdim))
          .add_const_input(self)
          .resize_outputs(false)
          .is_reduction(true)
          .check_all_same_dtype(false)
          .build();
  launchReduce(family, iter);
}
// LITERALINCLUDE END: REDUCE INTO TWO

void bothKernel(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& low, at::Tensor& high) {
  reduceIntoTwo(kernelFamily<"aminmax">, self, at::IntArrayRef(dim), keepdim, low, high);
}
void bothOfAllKernel(const at::Tensor& self, at::Tensor& low, at::Tensor& high) {
  reduceIntoTwo(kernelFamily<"aminmax">, self, std::nullopt, false, low, high);
}

// LITERALINCLUDE START: PRECOMPUTED
// Their meta functions return what impl needs: the dimension, wrapped.
template <class Meta, Name family>
struct Along : Meta {
  void impl(
      const at::Tensor& self,
      int64_t /*dim*/,
      bool keepdim,
      const Meta::meta_return_ty& found,
      const at::Tensor& values,
      const at::Tensor& indices) {
    reduceIntoTwo(kernelFamily<family>, self, at::IntArrayRef(found.dim), keepdim, values, indices);
  }
};
using Max = Structured<Along<at::meta::structured_max_dim, "max">, "max.dim_max", 2>;
using Min = Structured<Along<at::meta::structured_min_dim, "min">, "min.dim_min", 2>;
// LITERALINCLUDE END: PRECOMPUTED

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_amax_out, "amax.out">>(m, "amax");
  implForms<Structured<at::native::structured_amin_out, "amin.out">>(m, "amin");
  implForms<Structured<at::native::structured_aminmax_out, "aminmax.out", 2>>(m, "aminmax");
  implForms<Structured<at::native::structured_argmin_out, "argmin.out">>(m, "argmin");
  implForms<Max>(m, "max", {"dim", "dim_max"});
  implForms<Min>(m, "min", {"dim", "dim_min"});
  implNative(m, "max", static_cast<at::Tensor (*)(const at::Tensor&)>(at::native::max));
  implNative(m, "max.unary_out", at::native::max_unary_out);
  implNative(m, "min", static_cast<at::Tensor (*)(const at::Tensor&)>(at::native::min));
  implNative(m, "min.unary_out", at::native::min_unary_out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(max_values_stub, &openreg::reduceStub<"amax">)
REGISTER_PRIVATEUSE1_DISPATCH(min_values_stub, &openreg::reduceStub<"amin">)
REGISTER_PRIVATEUSE1_DISPATCH(argmin_stub, &openreg::reduceStub<"argmin">)
REGISTER_PRIVATEUSE1_DISPATCH(max_all_stub, &openreg::largestOfAllKernel)
REGISTER_PRIVATEUSE1_DISPATCH(min_all_stub, &openreg::smallestOfAllKernel)
REGISTER_PRIVATEUSE1_DISPATCH(aminmax_stub, &openreg::bothKernel)
REGISTER_PRIVATEUSE1_DISPATCH(aminmax_allreduce_stub, &openreg::bothOfAllKernel)
} // namespace at::native
