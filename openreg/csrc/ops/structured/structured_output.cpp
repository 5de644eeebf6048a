// What structured operators owe their outputs and arguments, whatever they compute.
#include "ops/structured/structured_output.h"

#include "ops/structured/native.h"
#include "ops/tensor/new_tensor.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/Resize.h>

namespace openreg {

// LITERALINCLUDE START: MAKE OUTPUT
at::Tensor makeOutput(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
  // Not at::empty: a trip through the dispatcher costs as much as the rest of a small operator.
  const auto type = c10::typeMetaToScalarType(options.dtype());
  return strides.empty() ? newTensor(sizes, type, options.memory_format_opt()) : newTensor(sizes, strides, type);
}
// LITERALINCLUDE END: MAKE OUTPUT

// LITERALINCLUDE START: RESIZE OUTPUT
void resizeOutput(
    const at::Tensor& output, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == output.dtype(), "Expected out tensor to have dtype ", options.dtype(), ", but got ",
      output.dtype(), " instead");
  TORCH_CHECK(
      options.device() == output.device(), "Expected out tensor to have device ", options.device(), ", but got ",
      output.device(), " instead");
  if (!at::native::resize_output(output, sizes)) {
    return; // It had the right sizes. Then its strides are its own affair.
  }
  if (!strides.empty()) {
    output.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  } else if (const auto format = options.memory_format_opt()) {
    output.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  }
}

at::Tensor& copyResult(const at::Tensor& result, at::Tensor& output) {
  resizeOutput(output, result.sizes(), {}, result.options());
  return output.copy_(result);
}

void checkInPlace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == self.dtype(), "Bad in-place call: input tensor dtype ", self.dtype(),
      " and output tensor dtype ", options.dtype(), " should match");
  TORCH_CHECK(
      options.device() == self.device(), "Bad in-place call: input tensor device ", self.device(),
      " and output tensor device ", options.device(), " should match");
  TORCH_CHECK(
      sizes == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(), " and output tensor size ", sizes,
      " should match");
}

void prepareOutput(
    Form form,
    const at::Tensor* given,
    at::Tensor& made,
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    const at::TensorOptions& options) {
  if (form == Form::Functional) {
    made = makeOutput(sizes, strides, options);
  } else if (form == Form::Out) {
    resizeOutput(*given, sizes, strides, options);
  } else {
    checkInPlace(*given, sizes, options);
  }
}
// LITERALINCLUDE END: RESIZE OUTPUT

// LITERALINCLUDE START: APART
at::Tensor apartFrom(const at::Tensor& output, const at::Tensor& input) {
  // Of tensors with gaps PyTorch can't say whether they meet; then they count as if they did.
  const bool meet = output.defined() && input.defined() && output.is_alias_of(input) &&
                    at::get_overlap_status(output, input) != at::MemOverlapStatus::No;
  return meet ? input.clone() : input;
}
// LITERALINCLUDE END: APART

// LITERALINCLUDE START: SAME DEVICE FAILS
void SameDevice::fail(const at::Tensor& argument) const {
  // Only who has failed pays for looking up what the argument is called.
  const auto op = operatorNamed(op_);
  const auto found = c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload_name.c_str());
  const auto& what = found.schema().arguments().at(count_ - 1).name();
  c10::impl::common_device_check_failure(*common_, argument, op.name.c_str(), what.c_str());
}
// LITERALINCLUDE END: SAME DEVICE FAILS

} // namespace openreg
