// From a TensorIterator to the arguments of a kernel over strided operands.
#include "ops/launch/strided_launch.h"

#include "ops/launch/dtype.h"
#include "ops/launch/scalar.h"

#include <kernels/launch/pointers.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace openreg {

// LITERALINCLUDE START: STRIDED LAUNCH ARGUMENTS
StridedLaunch::StridedLaunch(const at::TensorIteratorBase& iter, c10::ScalarType type, const char* op)
    : device_(iter.device(0).index()) { // of the first output, which is never a CPU scalar
  TORCH_CHECK(
      kernels::StridedArgs::fits(iter.ndim(), iter.ntensors()), op, ": ", iter.ntensors(), " operands of ", iter.ndim(),
      " dimensions do not fit into the arguments of a kernel");
  args_.common = kernelDType(type, op);
  args_.dims = iter.ndim();
  args_.operands = iter.ntensors();
  std::copy_n(iter.shape().data(), args_.dims, args_.sizes());
  for (int i = 0; i < args_.operands; ++i) {
    auto& operand = args_.operand(i);
    operand.dtype = kernelDType(iter.dtype(i), op);
    const auto elementSize = kernels::elementSize(operand.dtype);
    auto* strides = args_.strides(i);
    std::copy_n(iter.strides(i).data(), args_.dims, strides);
    operand.immediate = iter.is_cpu_scalar(i) ? 1 : 0;
    if (operand.immediate != 0) {
      std::memcpy(operand.value, iter.data_ptr(i), static_cast<size_t>(elementSize));
      continue;
    }
    operand.data = iter.data_ptr(i);
    const auto access = static_cast<uint32_t>(i < iter.noutputs() ? orAccessRead | orAccessWrite : orAccessRead);
    pointers_[pointerCount_++] = kernels::stridedPointer(
        kernels::offsetIn(args_, &operand.data), access, args_.dims, args_.sizes(), strides, elementSize);
  }
}
// LITERALINCLUDE END: STRIDED LAUNCH ARGUMENTS

void StridedLaunch::setParameters(std::initializer_list<c10::Scalar> values) {
  TORCH_CHECK(values.size() * 16 <= sizeof(args_.parameters), "a functor has at most 4 fields");
  auto* to = args_.parameters;
  for (const auto& value : values) {
    to += putScalar(to, value, args_.common);
  }
}

void StridedLaunch::on(const Kernel& kernel) const {
  launch(kernel, device_, args_, std::span(pointers_).first(pointerCount_), args_.size());
}

} // namespace openreg
