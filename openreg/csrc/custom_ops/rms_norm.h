// The parts of RMS normalisation that several registrations share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <tuple>

namespace openreg {

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

/** @brief The type that rows of a type are summed in, and that `rstd` has: float, or double for double. */
at::ScalarType sumType(at::ScalarType type);

/**
 * @brief Checks the arguments that all forms have. Sizes may be symbols, devices aren't looked at.
 * @param op Name of the operator without namespace.
 * @throws c10::Error that names operator and argument, what came and what was expected.
 */
void checkRmsNorm(const char* op, const at::Tensor& input, const at::Tensor& weight, double eps);

/** @brief Checks what the backward has besides. */
void checkRmsNormBackward(
    const at::Tensor& gradOutput, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& rstd);

/** @brief Checks a given output's type and device. Its shape may be any: it takes that of the result. */
void checkRmsNormOut(const at::Tensor& input, const at::Tensor& out);

/** @brief Checks that two tensors have one shape and one type. @throws c10::Error as checkRmsNorm() does. */
void checkAlike(const char* op, const char* name, const at::Tensor& tensor, const char* like, const at::Tensor& other);

/** @brief The same numbers by operators that every device has, each of which is differentiable. */
TwoTensors composedRmsNorm(const at::Tensor& input, const at::Tensor& weight, double eps);
TwoTensors composedRmsNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted);
at::Tensor composedAddRmsNorm(at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps);
at::Tensor& composedRmsNormOut(const at::Tensor& input, const at::Tensor& weight, double eps, at::Tensor& out);

// LITERALINCLUDE START: OWN CALL
/// An operator by its name, for C++ that calls it: what a declaration in ATen/ops is for PyTorch's own.
template <class Function>
class Operator {
 public:
  explicit Operator(const char* name, const char* overload = "")
      : handle_(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Function>()) {}

  const c10::TypedOperatorHandle<Function>* operator->() const { return &handle_; }

 private:
  c10::TypedOperatorHandle<Function> handle_;
};

/** @brief openreg::rms_norm */
inline const auto& rmsNormOp() {
  static const Operator<at::Tensor(const at::Tensor&, const at::Tensor&, double)> op("openreg::rms_norm");
  return op;
}
// LITERALINCLUDE END: OWN CALL

/** @brief openreg::rms_norm.out */
inline const auto& rmsNormOutOp() {
  static const Operator<at::Tensor&(const at::Tensor&, const at::Tensor&, double, at::Tensor&)> op(
      "openreg::rms_norm", "out");
  return op;
}

/** @brief openreg::add_rms_norm_ */
inline const auto& addRmsNormOp() {
  static const Operator<at::Tensor(at::Tensor&, const at::Tensor&, const at::Tensor&, double)> op(
      "openreg::add_rms_norm_");
  return op;
}

/** @brief openreg::rms_norm_forward */
inline const auto& rmsNormForwardOp() {
  static const Operator<TwoTensors(const at::Tensor&, const at::Tensor&, double)> op("openreg::rms_norm_forward");
  return op;
}

/** @brief openreg::rms_norm_backward */
inline const auto& rmsNormBackwardOp() {
  static const Operator<TwoTensors(
      const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, std::array<bool, 2>)>
      op("openreg::rms_norm_backward");
  return op;
}

} // namespace openreg
