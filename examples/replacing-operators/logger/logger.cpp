// A boxed kernel that sees every operator: it prints what is called, and lets the call go on.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>

#include <iostream>
#include <string>

namespace {

// A key that no tensor has. Threads that want to be watched include it; it is above autograd.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local int depth = 0; // operators that call operators

void log(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  std::cout << std::string(2 * depth, ' ') << op.operator_name() << '\n';
  ++depth;
  const auto up = c10::make_scope_exit([] { --depth; }); // an operator may throw
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
}

void watch(bool on) {
  c10::impl::tls_set_dispatch_key_included(kKey, on);
  std::cout << std::flush;
}

} // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&log>());
}
TORCH_LIBRARY(logger, m) {
  m.def("watch(bool on) -> ()", watch);
}
