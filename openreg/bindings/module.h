// Parts of torch_openreg._C register themselves: a file with a Binding in it is all it takes to add functions.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace openreg {

// LITERALINCLUDE START: BINDING
/**
 * @brief A function that adds definitions to the module torch_openreg._C when Python imports it.
 *
 * Make one at namespace scope. The order among files is not defined, so a part must not need another's definitions.
 */
class Binding {
 public:
  using Define = void (*)(pybind11::module_& module);
  explicit Binding(Define define);
};
// LITERALINCLUDE END: BINDING

} // namespace openreg
