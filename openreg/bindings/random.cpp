// Python ↔ the default generators. PyTorch's own torch.Generator does the rest.
#include "module.h"

#include "random/generator.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

const Binding random([](pybind11::module_& module) {
  module.def("_default_generator", torch::wrap_pybind_function(defaultGenerator), pybind11::arg("device"));
});

} // namespace
} // namespace openreg
