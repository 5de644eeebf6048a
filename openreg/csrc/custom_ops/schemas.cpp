// The namespace "openreg": what its operators are called, take and return.
#include <torch/library.h>

// LITERALINCLUDE START: OWN SCHEMAS
// One TORCH_LIBRARY a namespace and process. It claims the name; whoever adds to it says TORCH_LIBRARY_FRAGMENT.
TORCH_LIBRARY(openreg, m) {
  const std::vector<at::Tag> checked = {at::Tag::pt2_compliant_tag}; // by torch.library.opcheck, in the tests
  m.def("rms_norm(Tensor input, Tensor weight, float eps=1e-06) -> Tensor", checked);
  m.def("rms_norm.out(Tensor input, Tensor weight, float eps=1e-06, *, Tensor(a!) out) -> Tensor(a!)", checked);
  m.def("add_rms_norm_(Tensor(a!) residual, Tensor input, Tensor weight, float eps=1e-06) -> Tensor", checked);
  // What rms_norm is made of. These two have a kernel each; `rstd` is what the backward needs of the forward.
  m.def("rms_norm_forward(Tensor input, Tensor weight, float eps) -> (Tensor output, Tensor rstd)", checked);
  m.def(
      "rms_norm_backward(Tensor grad_output, Tensor input, Tensor weight, Tensor rstd, bool[2] output_mask) -> "
      "(Tensor grad_input, Tensor grad_weight)",
      checked);
}
// LITERALINCLUDE END: OWN SCHEMAS
