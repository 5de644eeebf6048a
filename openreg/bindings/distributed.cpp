// Python ↔ the c10d backend "occl".
#include "module.h"

#include "distributed/process_group.h"

#include <torch/csrc/Exceptions.h>

#include <pybind11/chrono.h>

namespace openreg {
namespace {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

struct GroupOptions final : c10d::Backend::Options {
  explicit GroupOptions(std::chrono::milliseconds timeout) : c10d::Backend::Options("occl", timeout) {}
};

// LITERALINCLUDE START: CONNECT GLOO
// PyTorch ships Gloo's Python class, but not the headers that its C++ class needs.
c10::intrusive_ptr<c10d::Backend>
connectGloo(const StorePtr& store, int rank, int size, const c10::intrusive_ptr<c10d::Backend::Options>& options) {
  namespace py = pybind11;
  const py::gil_scoped_acquire gil;
  const auto gloo = py::module_::import("torch._C._distributed_c10d").attr("ProcessGroupGloo");
  return gloo(store, rank, size, py::arg("timeout") = options->timeout).cast<c10::intrusive_ptr<c10d::Backend>>();
}
// LITERALINCLUDE END: CONNECT GLOO

// LITERALINCLUDE START: GROUP BINDING
const Binding distributed([](pybind11::module_& module) {
  namespace py = pybind11;
  if (!py::module_::import("torch.distributed").attr("is_available")().cast<bool>()) {
    return; // PyTorch was built without it
  }
  py::module_::import("torch._C._distributed_c10d"); // has the base classes
  py::class_<ProcessGroup, c10d::Backend, c10::intrusive_ptr<ProcessGroup>> group(module, "ProcessGroupOCCL");

  // dist.split_group makes a copy of the options of the group that it splits.
  py::class_<GroupOptions, c10d::Backend::Options, c10::intrusive_ptr<GroupOptions>>(group, "Options")
      .def(py::init<std::chrono::milliseconds>(), py::arg("timeout") = kBackendDefaultTimeout)
      .def("__deepcopy__", [](const GroupOptions& self, const py::dict& /*memo*/) {
        return c10::make_intrusive<GroupOptions>(self);
      });

  group
      .def(
          py::init([](const StorePtr& store, int rank, int size, const c10::intrusive_ptr<GroupOptions>& options) {
            return c10::make_intrusive<ProcessGroup>(connectGloo, store, rank, size, options);
          }),
          py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"),
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("options", &ProcessGroup::getBackendOptions)
      .def_property_readonly("transport", &ProcessGroup::transport)
      .def_property_readonly("transport_reason", &ProcessGroup::transportReason)
      // dist.new_group calls it on ranks outside a new group, if the backend can split.
      .def("perform_nocolor_split", [](const ProcessGroup& /*self*/, const py::object& /*device*/) {});
});
// LITERALINCLUDE END: GROUP BINDING

} // namespace
} // namespace openreg
