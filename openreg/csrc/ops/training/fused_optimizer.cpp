// torch.optim's fused optimizers: a step for all parameters in a few launches, without a look at what is on the device.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel_family.h"
#include "ops/structured/structured_output.h"

#include <kernels/launch/pointers.h>
#include <kernels/training/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace openreg {
namespace {

using kernels::FusedArgs;

/// One of an optimizer's lists of tensors, as the kernel gets them.
struct FusedList {
  const char* name;
  at::TensorList tensors;
  bool isWritten;
  bool isSteps = false; ///< A number each, of whatever type: the kernel reads floats.
};

bool isLike(const at::Tensor& tensor, const at::Tensor& parameter) {
  return tensor.strides() == parameter.strides() && tensor.is_non_overlapping_and_dense();
}

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
at::Tensor number(const char* op, const char* name, const OptionalTensor& tensor, at::ScalarType type) {
  if (!tensor.has_value() || !tensor->defined()) {
    return {};
  }
  TORCH_CHECK(tensor->numel() == 1, op, ": argument '", name, "' has ", tensor->numel(), " elements; expected 1");
  TORCH_CHECK(
      type == at::kDouble || tensor->scalar_type() == type, op, ": argument '", name, "' is of type ",
      tensor->scalar_type(), "; expected ", type);
  return tensor->to(type).contiguous();
}

/// The step of an optimizer. Parameters that are alike in type share launches, as many as fit into one.
class FusedStep {
 public:
  /// @param lists The parameters first.
  FusedStep(const KernelFamily& family, std::vector<FusedList> lists, const FusedArgs& args)
      : family_(family), lists_(std::move(lists)), args_(args) {
    args_.arrays = static_cast<int32_t>(lists_.size());
  }

  /// Numbers on the device; undefined ones are not there.
  void numbers(at::Tensor learningRate, at::Tensor gradScale, at::Tensor foundInf) {
    numbers_ = {std::move(learningRate), std::move(gradScale), std::move(foundInf)};
  }

  void run() {
    const auto& parameters = lists_[0].tensors;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].numel() > 0) {
        if (isFull() || (args_.tensors > 0 && parameters[i].scalar_type() != type_)) {
          flush();
        }
        type_ = parameters[i].scalar_type();
        device_ = parameters[i].device().index();
        add(i);
      }
    }
    flush();
  }

 private:
  bool isFull() const {
    return pointerCount_ + lists_.size() + numbers_.size() > pointers_.size() ||
           args_.size(args_.tensors + 1) > sizeof(args_);
  }

  void add(size_t i) {
    const auto& parameter = lists_[0].tensors[i];
    const bool isDense = parameter.is_non_overlapping_and_dense();
    *args_.entry(args_.tensors) = parameter.numel();
    for (size_t k = 0; k < lists_.size(); ++k) {
      const auto& list = lists_[k];
      auto array = list.isSteps ? list.tensors[i].to(at::kFloat) : list.tensors[i];
      if (!list.isSteps && !(isDense && isLike(array, parameter))) {
        array = isDense ? at::empty_like(parameter).copy_(array) : array.contiguous();
        if (list.isWritten && !array.is_same(list.tensors[i])) {
          copies_.emplace_back(list.tensors[i], array);
        }
      }
      kept_.push_back(array);
      auto& place = args_.array(args_.tensors, static_cast<int>(k));
      place = const_cast<void*>(array.const_data_ptr());
      describe(&place, list.isWritten ? kReadWrite : int{orAccessRead}, array.nbytes());
    }
    ++args_.tensors;
  }

  void describe(void* place, int access, size_t bytes) {
    const auto offset = static_cast<const char*>(place) - reinterpret_cast<const char*>(&args_);
    pointers_[pointerCount_++] =
        kernels::contiguousPointer(static_cast<size_t>(offset), static_cast<uint32_t>(access), bytes);
  }

  void flush() {
    if (args_.tensors > 0) {
      describeNumber(args_.onDevice, numbers_[0]);
      describeNumber(args_.gradScale, numbers_[1]);
      describeNumber(args_.foundInf, numbers_[2]);
      args_.dtype = kernelDType(type_, family_.name());
      launch(
          family_.get(type_, device_), device_, args_, std::span(pointers_).first(pointerCount_),
          args_.size(args_.tensors));
    }
    for (const auto& [to, from] : copies_) {
      to.copy_(from);
    }
    copies_.clear();
    kept_.clear();
    args_.tensors = 0;
    pointerCount_ = 0;
  }

  template <class Number>
  void describeNumber(const Number*& place, const at::Tensor& number) {
    if (number.defined()) {
      place = static_cast<const Number*>(number.const_data_ptr());
      describe(&place, orAccessRead, sizeof(Number));
    }
  }

  static constexpr int kReadWrite = int{orAccessRead} | int{orAccessWrite};

  const KernelFamily& family_;
  std::vector<FusedList> lists_;
  std::array<at::Tensor, 3> numbers_;
  FusedArgs args_;
  at::ScalarType type_ = at::kFloat;
  c10::DeviceIndex device_ = 0;
  std::array<orPointerArg, OPENREG_MAX_POINTER_ARGS> pointers_;
  size_t pointerCount_ = 0;
  std::vector<at::Tensor> kept_;                          // until the kernel is queued
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_; // to, from
};

/// A learning rate that is a tensor: of the CPU, and its value goes into the launch; or of the device, and stays there.
struct LearningRate {
  double value = 0;
  at::Tensor onDevice;

  LearningRate(const char* /*op*/, double number) : value(number) {}
  LearningRate(const char* op, const at::Tensor& tensor) {
    if (tensor.device().is_cpu()) {
      value = tensor.item<double>();
    } else {
      onDevice = number(op, "lr", tensor, at::kDouble);
    }
  }
};

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
  checkLists(op, lists);
  FusedArgs args{};
  args.learningRate = rate.value;
  args.weightDecay = numbers.weightDecay;
  args.first = numbers.beta1;
  args.second = numbers.beta2;
  args.epsilon = numbers.epsilon;
  args.maximize = numbers.maximize ? 1 : 0;
  args.variant = decoupled ? 1 : 0;
  FusedStep step(kernelFamily<"fused_adam">, std::move(lists), args);
  step.numbers(
      rate.onDevice, number(op, "grad_scale", gradScale, at::kFloat), number(op, "found_inf", foundInf, at::kFloat));
  step.run();
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
          at::ITensorListRef(self), at::ITensorListRef(grads), at::ITensorListRef(expAvgs),
          at::ITensorListRef(expAvgSqs), at::ITensorListRef(maxExpAvgSqs), at::ITensorListRef(stateSteps),
          rate.onDevice, beta1, beta2, weightDecay, eps, amsgrad, maximize, gradScale, foundInf);
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
          at::ITensorListRef(self), at::ITensorListRef(grads), at::ITensorListRef(momenta), weightDecay, momentum,
          rate.onDevice, dampening, nesterov, maximize, isFirstStep, gradScale, foundInf);
  const bool scales = gradScale.has_value() && gradScale->defined();
  std::vector<FusedList> lists = {{"self", self, true}, {"grads", grads, scales}};
  if (momentum != 0) {
    lists.push_back({"momentum_buffer_list", momenta, true});
  } else {
    checkNone(op, "momentum_buffer_list", momenta, "momentum");
  }
  checkLists(op, lists);
  FusedArgs args{};
  args.learningRate = rate.value;
  args.weightDecay = weightDecay;
  args.first = momentum;
  args.second = dampening;
  args.maximize = maximize ? 1 : 0;
  args.variant = nesterov ? 1 : 0;
  args.firstStep = isFirstStep ? 1 : 0;
  FusedStep step(kernelFamily<"fused_sgd">, std::move(lists), args);
  step.numbers(
      rate.onDevice, number(op, "grad_scale", gradScale, at::kFloat), number(op, "found_inf", foundInf, at::kFloat));
  step.run();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_adam_", fusedAdam<false, double>);
  m.impl("_fused_adam_.tensor_lr", fusedAdam<false, const at::Tensor&>);
  m.impl("_fused_adamw_", fusedAdam<true, double>);
  m.impl("_fused_adamw_.tensor_lr", fusedAdam<true, const at::Tensor&>);
  m.impl("_fused_sgd_", fusedSgd<double>);
  m.impl("_fused_sgd_.tensor_lr", fusedSgd<const at::Tensor&>);
}

} // namespace
} // namespace openreg
