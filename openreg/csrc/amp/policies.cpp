// What autocast does with an operator's arguments before the operator runs.
#include "amp/policies.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <span>
#include <utility>

// LITERALINCLUDE START: AMP DECLARATIONS
// Two functions of ATen/autocast_mode.h. That header includes every operator there is, which takes as long to compile
// as all the rest of this folder. If PyTorch changes one of them, the linker says so: it must find each name.
namespace at::autocast {
TORCH_API Tensor cached_cast(ScalarType type, const Tensor& tensor, c10::DeviceType device);
TORCH_API ScalarType get_autocast_dtype(c10::DeviceType device);
} // namespace at::autocast
// LITERALINCLUDE END: AMP DECLARATIONS

namespace openreg {
namespace {

using Arguments = std::span<c10::IValue>;

/// The operator's own arguments: what is on top of the stack.
Arguments argumentsOf(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  return Arguments(stack).last(op.schema().arguments().size());
}

// LITERALINCLUDE START: AMP ELIGIBLE
/// Numbers of this device that autocast may cast. It leaves double alone: whoever takes double, means it.
bool isEligible(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_privateuseone() && tensor.is_floating_point() &&
         tensor.scalar_type() != at::kDouble;
}
// LITERALINCLUDE END: AMP ELIGIBLE

// LITERALINCLUDE START: AMP CAST
/// Casts what is eligible. PyTorch's function keeps the half of a parameter until the region ends, so that one that is
/// used twice is cast once.
void castTensors(Arguments arguments, at::ScalarType type) {
  for (auto& argument : arguments) {
    if (argument.isTensor()) {
      argument = at::autocast::cached_cast(type, argument.toTensor(), at::kPrivateUse1);
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> cast;
      for (const at::Tensor& tensor : argument.toTensorList()) {
        cast.push_back(at::autocast::cached_cast(type, tensor, at::kPrivateUse1));
      }
      argument = std::move(cast);
    }
  }
}

/// Calls the operator with autocast's key left out; with it, the call would come back here. What the operator calls in
/// its turn meets no autocast either: it has what it needs.
void callOutside(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType type) {
  const c10::impl::ExcludeDispatchKeyGuard outside(c10::DispatchKey::AutocastPrivateUse1);
  castTensors(argumentsOf(op, *stack), type);
  op.callBoxed(stack);
}
// LITERALINCLUDE END: AMP CAST

/// Calls `use` with each tensor of the arguments.
template <class Use>
void forEachTensor(Arguments arguments, Use use) {
  for (const auto& argument : arguments) {
    if (argument.isTensor()) {
      use(argument.toTensor());
    } else if (argument.isTensorList()) {
      for (const at::Tensor& tensor : argument.toTensorList()) {
        use(tensor);
      }
    }
  }
}

} // namespace

// LITERALINCLUDE START: AMP RUN
void runInLowerPrecision(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  callOutside(op, stack, at::autocast::get_autocast_dtype(at::kPrivateUse1));
}

void runInFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  callOutside(op, stack, at::kFloat);
}

void runInWidest(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // A half of the other kind is none of ours, and neither holds all numbers of the other: then it is float, too.
  auto widest = at::autocast::get_autocast_dtype(at::kPrivateUse1);
  forEachTensor(argumentsOf(op, *stack), [&](const at::Tensor& tensor) {
    if (isEligible(tensor) && tensor.scalar_type() != widest) {
      widest = at::kFloat;
    }
  });
  callOutside(op, stack, widest);
}
// LITERALINCLUDE END: AMP RUN

// LITERALINCLUDE START: AMP ASK
void askForFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard outside(c10::DispatchKey::AutocastPrivateUse1);
  const auto arguments = argumentsOf(op, *stack);
  auto& dtype = arguments[static_cast<size_t>(op.schema().argumentIndexWithName("dtype").value())];
  if (dtype.isNone() && isEligible(arguments[0].toTensor())) {
    dtype = at::kFloat;
  }
  op.callBoxed(stack);
}

void askNormForFloat(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard outside(c10::DispatchKey::AutocastPrivateUse1);
  const auto tensor = argumentsOf(op, *stack)[0].toTensor();
  // Of norm.Scalar it is norm.ScalarOpt_dtype, of norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype.
  const auto overload = op.operator_name().overload_name == "Scalar" ? "ScalarOpt_dtype" : "ScalarOpt_dim_dtype";
  stack->emplace_back(isEligible(tensor) ? at::kFloat : tensor.scalar_type());
  c10::Dispatcher::singleton().findSchemaOrThrow("aten::norm", overload).callBoxed(stack);
}
// LITERALINCLUDE END: AMP ASK

// LITERALINCLUDE START: AMP REFUSE
void refuseToAutocast(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  TORCH_CHECK(
      false, op.operator_name().name.substr(sizeof("aten::") - 1),
      " is unsafe to autocast: its input comes out of a sigmoid in half precision, where the gradient of the "
      "logarithm overflows. Use torch.nn.functional.binary_cross_entropy_with_logits, which takes what went into the "
      "sigmoid.");
}
// LITERALINCLUDE END: AMP REFUSE

} // namespace openreg
