// Python ↔ kernels that were compiled at run time.
#include "module.h"

#include "compile/compiled_kernel.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: CALL COMPILED
/// Calls a kernel with what Python has: tensors and numbers in the order of its parameters.
void callCompiled(const CompiledKernel& kernel, const pybind11::args& values) {
  CompiledArguments arguments(kernel);
  for (const auto& value : values) {
    switch (arguments.kind()) {
      case 'i':
        arguments.addInteger(PyLong_AsLongLong(value.ptr()));
        break;
      case 'f':
        arguments.addFloat(static_cast<float>(PyFloat_AsDouble(value.ptr())));
        break;
      default: {
        pybind11::detail::make_caster<at::Tensor> tensor;
        TORCH_CHECK_TYPE(
            tensor.load(value, false), "kernel '", kernel.name(), "' was given a ", Py_TYPE(value.ptr())->tp_name,
            " where it has a pointer; expected a tensor");
        arguments.addTensor(tensor);
      }
    }
    if (PyErr_Occurred() != nullptr) {
      throw pybind11::error_already_set();
    }
  }
  const pybind11::gil_scoped_release release; // a full queue blocks, and a function of the host may be what empties it
  kernel.launch(arguments);
}
// LITERALINCLUDE END: CALL COMPILED

const Binding compiled([](pybind11::module_& module) {
  namespace py = pybind11;
  py::class_<CompiledKernel>(module, "CompiledKernel")
      .def(py::init<std::string, std::string, std::string>(), py::arg("path"), py::arg("name"), py::arg("kinds"))
      .def("__call__", torch::wrap_pybind_function(callCompiled))
      .def_property_readonly("name", &CompiledKernel::name)
      .def_property_readonly("path", &CompiledKernel::path)
      .def_property_readonly_static("most_tensors", [](const py::object&) { return OPENREG_MAX_POINTER_ARGS; });
});

} // namespace
} // namespace openreg
