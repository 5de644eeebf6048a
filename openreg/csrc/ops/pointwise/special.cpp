// Special functions.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/digamma_native.h>
#include <ATen/ops/erf_native.h>
#include <ATen/ops/erfc_native.h>
#include <ATen/ops/erfinv_native.h>
#include <ATen/ops/i0_native.h>
#include <ATen/ops/lgamma_native.h>
#include <ATen/ops/polygamma_native.h>
#include <ATen/ops/sinc_native.h>
#include <ATen/ops/special_entr_native.h>
#include <ATen/ops/special_erfcx_native.h>
#include <ATen/ops/special_i0e_native.h>
#include <ATen/ops/special_i1_native.h>
#include <ATen/ops/special_i1e_native.h>
#include <ATen/ops/special_log_ndtr_native.h>
#include <ATen/ops/special_ndtri_native.h>
#include <ATen/ops/special_zeta_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void polygammaKernel(at::TensorIteratorBase& iter, int64_t order) {
  if (order == 0) {
    elementwiseStub<"digamma">(iter);
  } else if (order == 1) {
    elementwiseStub<"trigamma">(iter);
  } else {
    elementwiseStub<"polygamma">(iter, order);
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_erf_out>>(m, "erf");
  implForms<Structured<at::native::structured_erfc_out>>(m, "erfc");
  implForms<Structured<at::native::structured_erfinv_out>>(m, "erfinv");
  implForms<Structured<at::native::structured_lgamma_out>>(m, "lgamma");
  implForms<Structured<at::native::structured_digamma_out>>(m, "digamma");
  implForms<Structured<at::native::structured_polygamma_out>>(m, "polygamma");
  implForms<Structured<at::native::structured_sinc_out>>(m, "sinc");
  implForms<Structured<at::native::structured_i0_out>>(m, "i0");
  implForms<Structured<at::native::structured_special_i0e_out>>(m, "special_i0e");
  implForms<Structured<at::native::structured_special_i1_out>>(m, "special_i1");
  implForms<Structured<at::native::structured_special_i1e_out>>(m, "special_i1e");
  implForms<Structured<at::native::structured_special_entr_out>>(m, "special_entr");
  implForms<Structured<at::native::structured_special_erfcx_out>>(m, "special_erfcx");
  implForms<Structured<at::native::structured_special_ndtri_out>>(m, "special_ndtri");
  implForms<Structured<at::native::structured_special_log_ndtr_out>>(m, "special_log_ndtr");
  implForms<Structured<at::native::structured_special_zeta_out>>(m, "special_zeta");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(erf_stub, &openreg::elementwiseStub<"erf">)
REGISTER_PRIVATEUSE1_DISPATCH(erfc_stub, &openreg::elementwiseStub<"erfc">)
REGISTER_PRIVATEUSE1_DISPATCH(erfinv_stub, &openreg::elementwiseStub<"erfinv">)
REGISTER_PRIVATEUSE1_DISPATCH(lgamma_stub, &openreg::elementwiseStub<"lgamma">)
REGISTER_PRIVATEUSE1_DISPATCH(digamma_stub, &openreg::elementwiseStub<"digamma">)
REGISTER_PRIVATEUSE1_DISPATCH(polygamma_stub, &openreg::polygammaKernel)
REGISTER_PRIVATEUSE1_DISPATCH(sinc_stub, &openreg::elementwiseStub<"sinc">)
REGISTER_PRIVATEUSE1_DISPATCH(i0_stub, &openreg::elementwiseStub<"i0">)
REGISTER_PRIVATEUSE1_DISPATCH(special_i0e_stub, &openreg::elementwiseStub<"special_i0e">)
REGISTER_PRIVATEUSE1_DISPATCH(special_i1_stub, &openreg::elementwiseStub<"special_i1">)
REGISTER_PRIVATEUSE1_DISPATCH(special_i1e_stub, &openreg::elementwiseStub<"special_i1e">)
REGISTER_PRIVATEUSE1_DISPATCH(special_entr_stub, &openreg::elementwiseStub<"special_entr">)
REGISTER_PRIVATEUSE1_DISPATCH(special_erfcx_stub, &openreg::elementwiseStub<"special_erfcx">)
REGISTER_PRIVATEUSE1_DISPATCH(special_ndtri_stub, &openreg::elementwiseStub<"special_ndtri">)
REGISTER_PRIVATEUSE1_DISPATCH(special_log_ndtr_stub, &openreg::elementwiseStub<"special_log_ndtr">)
REGISTER_PRIVATEUSE1_DISPATCH(zeta_stub, &openreg::elementwiseStub<"special_zeta">)
} // namespace at::native
