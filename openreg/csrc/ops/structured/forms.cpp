// The names of an operator's forms.
#include "ops/structured/forms.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace openreg {

namespace {

std::string named(const std::string& op, const std::string& overload) {
  return overload.empty() ? op : op + "." + overload;
}

} // namespace

FormNames::FormNames(const std::string& op, const Overloads& overloads)
    : functional(named(op, overloads.functional)), out(named(op, overloads.out)) {
  if (c10::Dispatcher::singleton().findSchema({"aten::" + op + "_", overloads.functional}).has_value()) {
    inplace = named(op + "_", overloads.functional);
  }
}

} // namespace openreg
