// The module torch_openreg._C: runs every registered part.
#include "module.h"

#include <vector>

namespace openreg {
namespace {

// A function-local static, because parts in other files may register before this file's own globals exist.
std::vector<Binding::Define>& parts() {
  static std::vector<Binding::Define> list;
  return list;
}

} // namespace

Binding::Binding(Define define) {
  parts().push_back(define);
}

} // namespace openreg

extern "C" __attribute__((visibility("default"))) PyObject* initOpenRegModule() {
  static pybind11::module_::module_def definition;
  try {
    auto module = pybind11::module_::create_extension_module("torch_openreg._C", nullptr, &definition);
    for (const auto define : openreg::parts()) {
      define(module);
    }
    return module.release().ptr();
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return nullptr;
}
