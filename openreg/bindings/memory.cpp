// Python ↔ device memory.
#include "module.h"

#include "device/error.h"

#include <torch/csrc/Exceptions.h>

#include <utility>

namespace openreg {
namespace {

std::pair<size_t, size_t> memGetInfo(int device) {
  size_t free = 0;
  size_t total = 0;
  check(orMemGetInfo(&free, &total, device));
  return {free, total};
}

const Binding memory([](pybind11::module_& module) {
  module.def("_mem_get_info", torch::wrap_pybind_function(memGetInfo), pybind11::arg("device"));
});

} // namespace
} // namespace openreg
