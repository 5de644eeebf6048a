// Python ↔ the fallback's policy.
#include "module.h"

#include "fallback/policy.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

const Binding fallback([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def("_fallback_counts", torch::wrap_pybind_function(fallbackCounts));
  module.def("_reset_fallback_counts", torch::wrap_pybind_function(resetFallbackCounts));
  module.def("_set_fallback_mode", torch::wrap_pybind_function(setFallbackMode), py::arg("mode"));
  module.def("_begin_no_fallback", torch::wrap_pybind_function(beginNoFallback));
  module.def("_end_no_fallback", torch::wrap_pybind_function(endNoFallback));
  module.def("_block_fallback", torch::wrap_pybind_function(blockFallback), py::arg("op"), py::arg("block"));
});

} // namespace
} // namespace openreg
