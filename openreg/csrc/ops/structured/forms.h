// Registering all forms of operators that come out of structured classes.
#pragma once

#include "ops/structured/native.h"
#include "ops/structured/structured.h"

#include <c10/macros/Export.h>
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

/** @brief The names under which an operator's forms are registered. */
struct FormNames {
  C10_EXPORT FormNames(const std::string& op, const Overloads& overloads);

  std::string functional;
  std::string out;
  std::string inplace; ///< Empty if PyTorch has no such form.
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
  const FormNames names(op, overloads);
  implNative(m, names.functional.c_str(), S::functional);
  implNative(m, names.out.c_str(), S::out);
  if constexpr (std::is_pointer_v<decltype(S::inplace)>) {
    if (!names.inplace.empty()) {
      implNative(m, names.inplace.c_str(), S::inplace);
    }
  }
}
// LITERALINCLUDE END: FORMS

} // namespace openreg
