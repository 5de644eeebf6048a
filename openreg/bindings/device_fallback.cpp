// Python ↔ the fallback that is served by the device.
#include "module.h"

#include "fallback/device_fallback.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

const Binding deviceFallback([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def("_serve_on_device", torch::wrap_pybind_function(serveOnDevice), py::arg("on_device"));
});

} // namespace
} // namespace openreg
