// Python ↔ kernels by name.
#include "module.h"

#include "ops/launch/by_name.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/stl.h>

namespace openreg {
namespace {

const Binding launching([](pybind11::module_& module) {
  namespace py = pybind11;
  // The arguments are bytes. The GIL is released: a full queue blocks.
  module.def(
      "_launch",
      torch::wrap_pybind_function([](const std::string& name, const py::bytes& args, const py::list& tensors) {
        auto bytes = std::string(args);
        const auto pointed = tensors.cast<std::vector<PointedTensor>>();
        const py::gil_scoped_release release;
        launchByName(name, std::move(bytes), pointed);
      }),
      py::arg("name"), py::arg("args"), py::arg("tensors"));
});

} // namespace
} // namespace openreg
