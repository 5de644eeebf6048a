// Python ↔ graphs. PyTorch's own torch.accelerator.Graph does the rest.
#include "module.h"

#include "graph/handled_exception.h"
#include "graph/pool_id.h"

#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

// The exception whose `except`, `finally` or `__exit__` this thread is in. It is compared and never used, so that it
// may be gone by then.
const void* handledByPython() {
  if (Py_IsInitialized() == 0) {
    return nullptr;
  }
  const pybind11::gil_scoped_acquire gil;
  PyObject* exception = PyErr_GetHandledException();
  Py_XDECREF(exception);
  return exception;
}

const Binding graph([](pybind11::module_& module) {
  setHandledException(handledByPython);
  module.def("_graph_pool_handle", torch::wrap_pybind_function(graphPoolHandle));
});

} // namespace
} // namespace openreg
