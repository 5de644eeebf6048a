// Views: new sizes and strides over the same memory. No device work, so PyTorch's own functions serve.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: REGISTER VIEWS
// A view cannot be computed on the CPU and copied back: the result has to alias its argument. These are the view
// operators that have a kernel for each backend; the others are written in terms of them.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("unfold", at::native::unfold);
  m.impl("view_as_real", at::native::view_as_real);
  m.impl("view_as_complex", at::native::view_as_complex);
}
// LITERALINCLUDE END: REGISTER VIEWS

} // namespace
} // namespace openreg
