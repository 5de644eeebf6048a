// Launches of kernels over rows of numbers of any type.
#include "custom_ops/rows_launch.h"

#include "ops/launch/dtype.h"

namespace openreg {
namespace {

/// Elements from one row to the next, if that is one number for all of them.
std::optional<int64_t> rowStride(const at::Tensor& tensor) {
  std::optional<int64_t> stride; // of the rows so far, from the last dimension to the first
  int64_t next = 0;              // what the next dimension's has to be
  for (auto dim = tensor.dim() - 2; dim >= 0; --dim) {
    if (tensor.size(dim) == 1) {
      continue;
    }
    if (stride.has_value() && tensor.stride(dim) != next) {
      return std::nullopt;
    }
    stride = stride.value_or(tensor.stride(dim));
    next = tensor.stride(dim) * tensor.size(dim);
  }
  return stride.value_or(0);
}

} // namespace

bool hasEvenRows(const at::Tensor& tensor) {
  return rowStride(tensor).has_value();
}

kernels::NumberRows numberRows(const at::Tensor& tensor, const char* op) {
  const auto size = tensor.element_size();
  kernels::NumberRows rows{};
  rows.data = const_cast<void*>(tensor.const_data_ptr());
  rows.row = rowStride(tensor).value() * size;
  rows.column = tensor.stride(-1) * size;
  rows.dtype = kernelDType(tensor.scalar_type(), op);
  return rows;
}

} // namespace openreg
