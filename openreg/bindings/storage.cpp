// Python ↔ what tensors and their memory carry, and order with the streams of other libraries.
#include "module.h"

#include "storage/label.h"
#include "storage/metadata.h"
#include "storage/storage_impl.h"
#include "storage/stream_order.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <pybind11/stl.h>

namespace openreg {
namespace {

const Binding storage([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def("_exchange_current_label", torch::wrap_pybind_function(exchangeCurrentLabel), py::arg("name"));
  module.def("_label_of", torch::wrap_pybind_function(labelOf), py::arg("tensor"));
  module.def("_set_label_of", torch::wrap_pybind_function(setLabelOf), py::arg("tensor"), py::arg("name"));
  module.def("_bytes_by_label", torch::wrap_pybind_function(bytesByLabel), py::arg("device"));
  module.def("_scale_of", torch::wrap_pybind_function(scaleOf), py::arg("tensor"));
  module.def("_set_scale_of", torch::wrap_pybind_function(setScaleOf), py::arg("tensor"), py::arg("scale"));
  module.def(
      "_order_after_current", torch::wrap_pybind_function(orderAfterCurrent), py::arg("device"), py::arg("stream"));
});

} // namespace
} // namespace openreg
