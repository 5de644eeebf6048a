// Python ↔ what streams can do beyond torch.Stream.
#include "module.h"

#include "device/error.h"
#include "stream/handle.h"

#include <torch/csrc/Event.h>
#include <torch/csrc/Exceptions.h>

#include <utility>

namespace openreg {
namespace {

std::pair<int, int> streamPriorityRange(int device) {
  int least = 0;
  int greatest = 0;
  check(orDeviceGetStreamPriorityRange(&least, &greatest, device));
  return {least, greatest};
}

int streamPriority(const c10::Stream& stream) {
  int priority = 0;
  check(orStreamGetPriority(streamHandle(stream), &priority));
  return priority;
}

// LITERALINCLUDE START: ELAPSED TIME
// torch.Event's own method refuses objects of derived classes as its argument (its check is for the exact type), and
// torch.openreg.Event is one.
double elapsedTime(const pybind11::object& start, const pybind11::object& end) {
  const auto event = [](const pybind11::object& object, const char* argument) -> const c10::Event& {
    TORCH_CHECK_TYPE(
        THPEvent_Check(object.ptr()), "elapsed_time: argument '", argument, "' is of type ",
        Py_TYPE(object.ptr())->tp_name, "; expected a torch.Event");
    return reinterpret_cast<THPEvent*>(object.ptr())->event;
  };
  return event(start, "start").elapsedTime(event(end, "end_event"));
}
// LITERALINCLUDE END: ELAPSED TIME

const Binding stream([](pybind11::module_& module) {
  namespace py = pybind11;
  module.def("_stream_priority_range", torch::wrap_pybind_function(streamPriorityRange), py::arg("device"));
  module.def("_stream_priority", torch::wrap_pybind_function(streamPriority), py::arg("stream"));
  module.def("_elapsed_time", torch::wrap_pybind_function(elapsedTime), py::arg("start"), py::arg("end_event"));
});

} // namespace
} // namespace openreg
