// Stands in front of each kernel that Inductor has generated: what that takes for granted on a CPU, in terms of the
// device.
#pragma once

#include "compiled_math.h"
#include "openreg_kernel.h"

#include <torch/csrc/inductor/cpp_prefix.h>

#include "compiled_mask.h"
#include "compiled_random.h"

// LITERALINCLUDE START: COMPILED ERRORS
// A check of Inductor's, such as of an index, is an error of the device. It stands where there is a `context`.
#undef TORCH_CHECK
#define TORCH_CHECK(condition, message)                                                                                \
  do {                                                                                                                 \
    if (C10_UNLIKELY(!(condition))) {                                                                                  \
      return context->fail(context, orErrorAssert, message);                                                           \
    }                                                                                                                  \
  } while (false)
// LITERALINCLUDE END: COMPILED ERRORS

namespace {

// LITERALINCLUDE START: COMPILED PARALLEL
/// A loop over [0, size) in steps of `step`. The device's threads share it in pieces of at least `grain` steps.
template <class Body>
void parallelFor(orKernelContext* context, int64_t size, int64_t step, int64_t grain, const Body& body) {
  struct State {
    int64_t size, step;
    const Body& body;
  } state{size, step, body};
  const auto piece = [](void* raw, int64_t begin, int64_t end) {
    const auto& state = *static_cast<State*>(raw);
    state.body(begin * state.step, std::min(end * state.step, state.size));
  };
  context->parallelFor(context, (size + step - 1) / step, grain, piece, &state);
}
// LITERALINCLUDE END: COMPILED PARALLEL

// LITERALINCLUDE START: COMPILED CALL
/// Calls a kernel with the arguments of a launch: eight bytes each, in the order of its parameters.
template <class... Args, size_t... place>
void call(
    void (*kernel)(orKernelContext*, Args...),
    const void* args,
    orKernelContext* context,
    std::index_sequence<place...>) {
  kernel(context, *reinterpret_cast<const Args*>(static_cast<const char*>(args) + 8 * place)...);
}

template <class... Args>
void call(void (*kernel)(orKernelContext*, Args...), const void* args, orKernelContext* context) {
  call(kernel, args, context, std::index_sequence_for<Args...>());
}

/// Where Inductor's code notes that it has divided an integer by zero. The kernel fails when it is done.
std::atomic<int> dividedByZero{0};

} // namespace

/// A module of one kernel.
#define OPENREG_MODULE(name, kernel)                                                                                   \
  extern "C" OPENREG_EXPORT const orKernelEntry* orGetKernels(size_t* count) {                                         \
    static const orKernelEntry entry{                                                                                  \
        name,                                                                                                          \
        [](const void* args, orKernelContext* context) {                                                               \
          call(kernel, args, context);                                                                                 \
          if (dividedByZero.exchange(0) != 0) {                                                                        \
            context->fail(context, orErrorAssert, "ZeroDivisionError");                                                \
          }                                                                                                            \
        },                                                                                                             \
        0};                                                                                                            \
    inductor_cpu_integer_div_error_flag = &dividedByZero;                                                              \
    *count = 1;                                                                                                        \
    return &entry;                                                                                                     \
  }
// LITERALINCLUDE END: COMPILED CALL
