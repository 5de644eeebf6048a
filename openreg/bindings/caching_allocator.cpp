// Python ↔ the caching allocator.
#include "module.h"

#include "memory/caching_allocator.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

const Binding cachingAllocator([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def("_empty_cache", torch::wrap_pybind_function_no_gil(emptyCache)); // waits for the devices
  module.def(
      "_set_memory_fraction", torch::wrap_pybind_function(setMemoryFraction), py::arg("fraction"), py::arg("device"));
  module.def("_memory_fraction", torch::wrap_pybind_function(memoryFraction), py::arg("device"));
});

} // namespace
} // namespace openreg
