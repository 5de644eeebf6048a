// torch.optim's fused optimizers: a step for all parameters in a few launches, without a look at what is on the device.
#include "ops/structured/native.h"
#include "ops/structured/structured_output.h"
#include "ops/training/fused_launch.h"

#include <kernels/training/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <utility>
#include <vector>

namespace openreg {
namespace {

using kernels::FusedArgs;

/// Optimizers whose arguments are PyTorch's to make; but they are written for many devices, and anyone may call.
void checkLists(const char* op, const std::vector<FusedList>& lists) {
  const auto& parameters = lists[0].tensors;
  for (const auto& [name, tensors, isWritten, isSteps] : lists) {
    TORCH_CHECK(
        tensors.size() == parameters.size(), op, ": argument '", name, "' has ", tensors.size(),
        " tensors; expected as many as 'self', which has ", parameters.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto type = parameters[i].scalar_type();
      TORCH_CHECK(
          isSteps || tensors[i].scalar_type() == type, op, ": argument '", name, "' has a tensor of type ",
          tensors[i].scalar_type(), "; expected ", type);
      const bool fits = isSteps ? tensors[i].numel() == 1 : tensors[i].sizes() == parameters[i].sizes();
      TORCH_CHECK(
          fits, op, ": argument '", name, "' has a tensor of shape ", tensors[i].sizes(), "; expected ",
          isSteps ? at::IntArrayRef() : parameters[i].sizes());
    }
  }
}

void checkNone(const char* op, const char* name, at::TensorList tensors, const char* needs) {
  TORCH_CHECK(
      tensors.empty(), op, ": argument '", name, "' has ", tensors.size(), " tensors; expected none without ", needs);
}

/// A number on the device as the kernel reads it, or none.
at::Tensor numberOnDevice(const char* op, const char* name, const OptionalTensor& tensor, at::ScalarType type) {
  if (!tensor.has_value() || !tensor->defined()) {
    return {};
  }
  TORCH_CHECK(tensor->numel() == 1, op, ": argument '", name, "' has ", tensor->numel(), " elements; expected 1");
  TORCH_CHECK(
      type == at::kDouble || tensor->scalar_type() == type, op, ": argument '", name, "' is of type ",
      tensor->scalar_type(), "; expected ", type);
  return tensor->to(type).contiguous();
}

/// A learning rate that is a tensor: of the CPU, and its value goes into the launch; or of the device, and stays there.
struct LearningRate {
  double value = 0;
  at::Tensor onDevice;

  LearningRate(const char* /*op*/, double number) : value(number) {}
  LearningRate(const char* op, const at::Tensor& tensor) {
    if (tensor.device().is_cpu()) {
      value = tensor.item<double>();
    } else {
      onDevice = numberOnDevice(op, "lr", tensor, at::kDouble);
    }
  }
};

/// What all of them do in the end. @param args Lacks the learning rate.
void runStep(
    const char* op,
    const KernelFamily& family,
    std::vector<FusedList> lists,
    FusedArgs& args,
    const LearningRate& rate,
    const OptionalTensor& gradScale,
    const OptionalTensor& foundInf) {
  checkLists(op, lists);
  args.learningRate = rate.value;
  FusedStep step(family, std::move(lists), args);
  step.numbers(
      rate.onDevice, numberOnDevice(op, "grad_scale", gradScale, at::kFloat),
      numberOnDevice(op, "found_inf", foundInf, at::kFloat));
  step.run();
}

struct AdamNumbers {
  double beta1, beta2, weightDecay, epsilon;
  bool amsgrad, maximize;
};

void adamStep(
    const char* op,
    bool decoupled,
    at::TensorList parameters,
    at::TensorList gradients,
    at::TensorList averages,
    at::TensorList squares,
    at::TensorList maxSquares,
    at::TensorList steps,
    const LearningRate& rate,
    const AdamNumbers& numbers,
    const OptionalTensor& gradScale,
    const OptionalTensor& foundInf) {
  const bool scales = gradScale.has_value() && gradScale->defined();
  std::vector<FusedList> lists = {
      {"self", parameters, true},   {"grads", gradients, scales},   {"state_steps", steps, false, true},
      {"exp_avgs", averages, true}, {"exp_avg_sqs", squares, true},
  };
  if (numbers.amsgrad) {
    lists.push_back({"max_exp_avg_sqs", maxSquares, true});
  } else {
    checkNone(op, "max_exp_avg_sqs", maxSquares, "amsgrad");
  }
  FusedArgs args{};
  args.weightDecay = numbers.weightDecay;
  args.first = numbers.beta1;
  args.second = numbers.beta2;
  args.epsilon = numbers.epsilon;
  args.maximize = numbers.maximize ? 1 : 0;
  args.variant = decoupled ? 1 : 0;
  runStep(op, kernelFamily<"fused_adam">, std::move(lists), args, rate, gradScale, foundInf);
}

template <bool decoupled, class Rate>
void fusedAdam(
    at::TensorList self,
    at::TensorList grads,
    at::TensorList expAvgs,
    at::TensorList expAvgSqs,
    at::TensorList maxExpAvgSqs,
    at::TensorList stateSteps,
    Rate lr,
    double beta1,
    double beta2,
    double weightDecay,
    double eps,
    bool amsgrad,
    bool maximize,
    const OptionalTensor& gradScale,
    const OptionalTensor& foundInf) {
  constexpr const char* op = decoupled ? "_fused_adamw_" : "_fused_adam_";
  const LearningRate rate(op, lr);
  SameDevice(decoupled ? "_fused_adamw_.tensor_lr" : "_fused_adam_.tensor_lr")
      .all(
          self, grads, expAvgs, expAvgSqs, maxExpAvgSqs, stateSteps, rate.onDevice, beta1, beta2, weightDecay, eps,
          amsgrad, maximize, gradScale, foundInf);
  adamStep(
      op, decoupled, self, grads, expAvgs, expAvgSqs, maxExpAvgSqs, stateSteps, rate,
      {beta1, beta2, weightDecay, eps, amsgrad, maximize}, gradScale, foundInf);
}

template <class Rate>
void fusedSgd(
    at::TensorList self,
    at::TensorList grads,
    at::TensorList momenta,
    double weightDecay,
    double momentum,
    Rate lr,
    double dampening,
    bool nesterov,
    bool maximize,
    bool isFirstStep,
    const OptionalTensor& gradScale,
    const OptionalTensor& foundInf) {
  constexpr const char* op = "_fused_sgd_";
  const LearningRate rate(op, lr);
  SameDevice("_fused_sgd_.tensor_lr")
      .all(
          self, grads, momenta, weightDecay, momentum, rate.onDevice, dampening, nesterov, maximize, isFirstStep,
          gradScale, foundInf);
  const bool scales = gradScale.has_value() && gradScale->defined();
  std::vector<FusedList> lists = {{"self", self, true}, {"grads", grads, scales}};
  if (momentum != 0) {
    lists.push_back({"momentum_buffer_list", momenta, true});
  } else {
    checkNone(op, "momentum_buffer_list", momenta, "momentum");
  }
  FusedArgs args{};
  args.weightDecay = weightDecay;
  args.first = momentum;
  args.second = dampening;
  args.maximize = maximize ? 1 : 0;
  args.variant = nesterov ? 1 : 0;
  args.firstStep = isFirstStep ? 1 : 0;
  runStep(op, kernelFamily<"fused_sgd">, std::move(lists), args, rate, gradScale, foundInf);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "_fused_adam_", fusedAdam<false, double>);
  implNative(m, "_fused_adam_.tensor_lr", fusedAdam<false, const at::Tensor&>);
  implNative(m, "_fused_adamw_", fusedAdam<true, double>);
  implNative(m, "_fused_adamw_.tensor_lr", fusedAdam<true, const at::Tensor&>);
  implNative(m, "_fused_sgd_", fusedSgd<double>);
  implNative(m, "_fused_sgd_.tensor_lr", fusedSgd<const at::Tensor&>);
}

} // namespace
} // namespace openreg
