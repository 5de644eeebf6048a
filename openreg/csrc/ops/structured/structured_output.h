// What structured operators owe their outputs and arguments, whatever they compute.
#pragma once

#include "ops/tensor/optional_tensor.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/macros/Export.h>

namespace openreg {

// LITERALINCLUDE START: STRUCTURED OUTPUT
/// The three forms of an operator: `y = f(x)`, `x.f_()` and `f(x, out=y)`.
enum class Form { Functional, InPlace, Out };

/** @brief A new tensor on the current device. @param strides Empty: as the options' memory format says. */
C10_EXPORT at::Tensor makeOutput(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);

/**
 * @brief Makes a given output fit: resizes it, with PyTorch's warning if it was not empty.
 * @throws c10::Error if it has another type or is on another device.
 */
C10_EXPORT void resizeOutput(
    const at::Tensor& output, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);

/** @brief Brings a result into a given output, which takes its sizes. @return The output. */
at::Tensor& copyResult(const at::Tensor& result, at::Tensor& output);

/** @brief Checks that a result fits the tensor that is changed in place. @throws c10::Error if it does not. */
C10_EXPORT void checkInPlace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options);

/**
 * @brief Makes, resizes or checks an output of a call, as its form wants.
 * @param given The output, of the in-place and the out form.
 * @param made What takes a new tensor, of the functional form.
 */
C10_EXPORT void prepareOutput(
    Form form,
    const at::Tensor* given,
    at::Tensor& made,
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    const at::TensorOptions& options);

/** @brief An input as it is before `output` is written: a copy if they share memory, as after `sort(x, out=(x, i))`. */
at::Tensor apartFrom(const at::Tensor& output, const at::Tensor& input);
// LITERALINCLUDE END: STRUCTURED OUTPUT

// LITERALINCLUDE START: SAME DEVICE
/** @brief Checks that the tensors among an operator's arguments are on one device. Undefined ones don't count. */
class SameDevice {
 public:
  /** @param op Name of the operator with overload: "mm.out". In the namespace aten, if none is named. */
  explicit SameDevice(const char* op) : op_(op) {}

  /**
   * @brief Looks at the arguments, all that the schema has and in its order: it says what they are called.
   * @throws c10::Error that names the operator, the argument and the devices.
   */
  template <class... T>
  void all(const T&... arguments) {
    (next(arguments), ...);
  }

  /** @brief Looks at the next argument. */
  void next(const at::Tensor& argument) {
    ++count_;
    if (argument.defined() && common_.value_or(argument.device()) != argument.device()) {
      fail(argument);
    } else if (argument.defined()) {
      common_ = argument.device();
    }
  }
  void next(const std::optional<at::Tensor>& argument) { next(argument.value_or(at::Tensor())); }
  void next(const at::ITensorListRef& argument) {
    const auto position = count_;
    for (const auto& tensor : argument) {
      count_ = position;
      next(tensor);
    }
    count_ = position + 1;
  }
  void next(const at::TensorList& argument) { next(at::ITensorListRef(argument)); }
  template <class T>
  void next(const T&) { // no tensor
    ++count_;
  }

  /** @brief The device that all tensors seen so far are on, if there was one. */
  std::optional<c10::Device> common() const { return common_; }

 private:
  void fail(const at::Tensor& argument) const;

  const char* op_;
  size_t count_ = 0; // arguments seen
  std::optional<c10::Device> common_;
};
// LITERALINCLUDE END: SAME DEVICE

} // namespace openreg
