// Python ↔ memory and events shared between processes.
#include "module.h"

#include "device/device.h"
#include "storage/shared_event.h"
#include "storage/sharing.h"

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Event.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>

#include <utility>

namespace openreg {
namespace {

c10::Storage storageOf(const pybind11::object& storage) {
  TORCH_CHECK_TYPE(
      THPStorage_Check(storage.ptr()), "share: argument 'storage' is a ",
      std::string(pybind11::str(pybind11::type::of(storage).attr("__name__"))), "; expected an UntypedStorage");
  return THPStorage_Unpack(storage.ptr());
}

c10::Event& eventOf(const pybind11::object& event) {
  TORCH_CHECK_TYPE(
      THPEvent_Check(event.ptr()), "share: argument 'event' is a ",
      std::string(pybind11::str(pybind11::type::of(event).attr("__name__"))), "; expected a torch.Event");
  return reinterpret_cast<THPEvent*>(event.ptr())->event;
}

const Binding sharing([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def(
      "_share_storage", torch::wrap_pybind_function([](const py::object& storage) {
        const auto unpacked = storageOf(storage);
        SharedStorage shared;
        {
          const py::gil_scoped_release release; // It waits for the device.
          shared = shareStorage(unpacked);
        }
        return std::make_pair(py::bytes(shared.handle), shared.offset);
      }),
      py::arg("storage"));
  module.def(
      "_open_storage",
      torch::wrap_pybind_function([](const py::bytes& handle, size_t offset, size_t size, int device, int done) {
        const c10::Device where(kDeviceType, static_cast<c10::DeviceIndex>(device));
        return py::reinterpret_steal<py::object>(
            torch::createPyObject(openStorage({handle, offset}, size, where, done)));
      }),
      py::arg("handle"), py::arg("offset"), py::arg("size"), py::arg("device"), py::arg("done"));
  module.def(
      "_make_shared_event", torch::wrap_pybind_function([](const py::object& event, c10::DeviceIndex device) {
        makeShared(eventOf(event), device);
      }),
      py::arg("event"), py::arg("device"));
  module.def(
      "_shared_event_handle",
      torch::wrap_pybind_function([](const py::object& event) { return py::bytes(sharedHandle(eventOf(event))); }),
      py::arg("event"));
  module.def(
      "_open_shared_event",
      torch::wrap_pybind_function([](const py::object& event, c10::DeviceIndex device, const py::bytes& handle) {
        openShared(eventOf(event), device, handle);
      }),
      py::arg("event"), py::arg("device"), py::arg("handle"));
});

} // namespace
} // namespace openreg
