// Registering all forms of operators that come out of structured classes.
#pragma once

#include "ops/structured/native.h"
#include "ops/structured/structured.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string>
#include <type_traits>

namespace openreg {

// LITERALINCLUDE START: FORMS
/** @brief How an operator's forms are called, behind its name and a dot. */
struct Overloads {
  const char* functional = ""; ///< Also of the in-place form.
  const char* out = "out";
};

/**
 * @brief Registers "op", "op_" (if PyTorch has it) and "op.out".
 * @tparam S Structured<Class>.
 * @param m Library fragment of the namespace aten.
 * @param op Name without namespace.
 * @param overloads Where they differ from that: {"Tensor", "Tensor_out"}.
 */
template <class S>
void implForms(torch::Library& m, const std::string& op, const Overloads& overloads = {}) {
  const auto named = [](const std::string& name, const std::string& overload) {
    return overload.empty() ? name : name + "." + overload;
  };
  implNative(m, named(op, overloads.functional).c_str(), S::functional);
  implNative(m, named(op, overloads.out).c_str(), S::out);
  if constexpr (std::is_pointer_v<decltype(S::inplace)>) {
    const auto found = c10::Dispatcher::singleton().findSchema({"aten::" + op + "_", overloads.functional});
    if (found.has_value()) {
      implNative(m, named(op + "_", overloads.functional).c_str(), S::inplace);
    }
  }
}
// LITERALINCLUDE END: FORMS

} // namespace openreg
