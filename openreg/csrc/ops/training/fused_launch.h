// A step of an optimizer for lists of tensors, in as few launches as they fit into.
#pragma once

#include "ops/launch/dtype.h"
#include "ops/launch/kernel_family.h"

#include <kernels/launch/pointers.h>
#include <kernels/training/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace openreg {

/// One of an optimizer's lists of tensors, as the kernel gets them.
struct FusedList {
  const char* name;
  at::TensorList tensors;
  bool isWritten;
  bool isSteps = false; ///< A number each, of whatever type: the kernel reads floats.
};

/// The step of an optimizer. Parameters that are alike in type share launches, as many as fit into one.
class FusedStep {
 public:
  /// @param lists The parameters first.
  FusedStep(const KernelFamily& family, std::vector<FusedList> lists, const kernels::FusedArgs& args)
      : family_(family), lists_(std::move(lists)), args_(args) {
    args_.arrays = static_cast<int32_t>(lists_.size());
  }

  /// Numbers on the device; undefined ones are not there.
  void numbers(at::Tensor learningRate, at::Tensor gradScale, at::Tensor foundInf) {
    numbers_ = {std::move(learningRate), std::move(gradScale), std::move(foundInf)};
  }

  void run() {
    const auto& parameters = lists_[0].tensors;
    for (const auto& parameter : parameters) { // a step that is half done could not be left to the CPU
      (void)family_.get(parameter.scalar_type(), parameter.device().index());
    }
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
  static bool isLike(const at::Tensor& tensor, const at::Tensor& parameter) {
    return tensor.strides() == parameter.strides() && tensor.is_non_overlapping_and_dense();
  }

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
    pointers_[pointerCount_++] =
        kernels::contiguousPointer(kernels::offsetIn(args_, place), static_cast<uint32_t>(access), bytes);
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
  kernels::FusedArgs args_;
  at::ScalarType type_ = at::kFloat;
  c10::DeviceIndex device_ = 0;
  std::array<orPointerArg, OPENREG_MAX_POINTER_ARGS> pointers_;
  size_t pointerCount_ = 0;
  std::vector<at::Tensor> kept_;                          // until the kernel is queued
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_; // to, from
};

} // namespace openreg
