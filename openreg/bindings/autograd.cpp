// Python ↔ the autograd engine.
#include "module.h"

#include "autograd/idle.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

const Binding autograd([](pybind11::module_& module) {
  module.def("_wait_for_idle_engine", torch::wrap_pybind_function_no_gil(waitForIdleEngine));
});

} // namespace
} // namespace openreg
