// The parts of a reduction that are work of the device on either way.
#include "distributed/reduce_op.h"

#include <ATen/ops/mul.h>

namespace openreg {

at::Tensor factored(const at::Tensor& values, const c10d::ReduceOp& reduceOp) {
  if (reduceOp != c10d::ReduceOp::PREMUL_SUM) {
    return values;
  }
  const auto factor = c10::static_intrusive_pointer_cast<c10d::PreMulSumSupplement>(reduceOp.supplement_);
  return factor->tensor_factor.defined() ? at::mul(values, factor->tensor_factor)
                                         : at::mul(values, factor->double_factor);
}

void divideByRanks(const at::Tensor& sum, int ranks) {
  if (at::isIntegralType(sum.scalar_type(), /*includeBool=*/true)) {
    sum.div_(ranks, "trunc");
  } else {
    sum.div_(ranks);
  }
}

} // namespace openreg
