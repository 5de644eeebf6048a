// Python ↔ device management.
#include "module.h"

#include "device/device.h"
#include "device/reset.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/version.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: BINDING DEVICE
// wrap_pybind_function turns c10::Error into the Python exception of its type; its no_gil form also releases the GIL,
// which every call that may wait for the device has to do: the device may be running a host function that needs it.
const Binding device([](pybind11::module_& module) {
  namespace py = pybind11;
  // The type comes before the functions that return it: pybind11 writes their signatures as they are defined.
  py::class_<orDeviceProp>(module, "_DeviceProperties")
      .def_property_readonly("name", [](const orDeviceProp& p) { return std::string(p.name); })
      .def_readonly("total_memory", &orDeviceProp::totalGlobalMem)
      .def_readonly("major", &orDeviceProp::major)
      .def_readonly("minor", &orDeviceProp::minor)
      .def_readonly("multi_processor_count", &orDeviceProp::multiProcessorCount)
      .def_property_readonly("synchronous_copies", [](const orDeviceProp& p) { return p.synchronousCopies != 0; })
      .def("__repr__", [](const orDeviceProp& p) {
        return c10::str(
            "_DeviceProperties(name='", p.name, "', major=", p.major, ", minor=", p.minor,
            ", total_memory=", p.totalGlobalMem >> 20, "MB, multi_processor_count=", p.multiProcessorCount, ")");
      });

  module.def("_torch_version", [] { return TORCH_VERSION; });
  module.def("_device_count", torch::wrap_pybind_function([] { return deviceCount(); })); // a warning is Python's
  module.def("_device_count_ensure_non_zero", torch::wrap_pybind_function(deviceCountEnsureNonZero));
  module.def("_current_device", torch::wrap_pybind_function(currentDevice));
  module.def("_set_device", torch::wrap_pybind_function(setDevice), py::arg("device"));
  module.def("_exchange_device", torch::wrap_pybind_function(exchangeDevice), py::arg("device"));
  module.def("_synchronize", torch::wrap_pybind_function_no_gil(synchronize), py::arg("device"));
  module.def("_reset_device", torch::wrap_pybind_function_no_gil(resetDevice), py::arg("device"));
  // PyTorch remembers that the device is initialised; with this a forked child forgets it and calls _lazy_init again.
  module.def("_register_fork_handler", [] { torch::utils::register_fork_handler_for_device_init(kDeviceType); });
  module.def("_in_bad_fork", [] { return inBadFork(); }); // cannot throw
  module.def("_get_device_properties", torch::wrap_pybind_function(deviceProperties), py::arg("device"));
});
// LITERALINCLUDE END: BINDING DEVICE

} // namespace
} // namespace openreg
