// What autocast does with an operator's arguments before the operator runs: a function for each of PyTorch's lists.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/ScalarType.h>

namespace c10 {
class OperatorHandle;
}

namespace openreg {

// LITERALINCLUDE START: AMP POLICIES
/// Casts every tensor of the arguments to the type that the program has chosen for autocast, and calls the operator.
void runInLowerPrecision(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Casts every tensor of the arguments to float, and calls the operator.
void runInFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Asks an operator that has an argument `dtype` for a result in float, unless the program asks for another. Such an
/// operator converts as it reads, which saves the cast.
void askForFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Calls the overload `norm.…_dtype` of `norm.…`, which has an argument for it, with float.
void askNormForFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Casts every tensor of the arguments to the widest type among them.
void runInWidest(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Refuses.
void refuseToAutocast(const c10::OperatorHandle& op, torch::jit::Stack* stack);
// LITERALINCLUDE END: AMP POLICIES

} // namespace openreg
