// Operators over lists of tensors (_foreach_...): a few launches for all tensors of the list.
#pragma once

#include "ops/launch/kernel_family.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/SmallVector.h>

#include <kernels/loop/lists.h>

#include <optional>
#include <vector>

namespace openreg {

/**
 * @brief One call of an operator over lists, if kernels can take it: all tensors floating point, of one type and
 * device, without gaps in memory, and of one shape and layout with those of the same index.
 *
 * Arguments are taken in the order of the kernel's operands. Nothing else is checked here: who gets a no calls
 * PyTorch's function, which goes through the lists tensor by tensor, and raises the errors that the CPU raises.
 */
class ForeachCall {
 public:
  /** @param family The elementwise kernels' forms for lists: "foreach_add". Must live as long as the object. */
  explicit ForeachCall(const KernelFamily& family) : family_(&family) {}

  void overwriteFirst() { overwrites_ = true; } ///< The first list is written and not read.
  void roundNumbers() { rounds_ = true; }       ///< Operands that are numbers are rounded to the tensors' type first.

  void operand(at::TensorList tensors);                    ///< One for each index.
  void operand(const at::Tensor& tensor);                  ///< One of a single element, for all.
  void operand(at::ArrayRef<c10::Scalar> numbers);         ///< One for each index, or one for all.
  void operand(const c10::Scalar& number);                 ///< One for all.
  void parameter(at::ArrayRef<c10::Scalar> numbers);       ///< The functor's field, for each index.
  void parameter(const c10::Scalar& number, int sign = 1); ///< The functor's field, for all, or its negative.

  /** @brief Computes into new tensors, or returns none if kernels cannot. Does not block. */
  std::optional<std::vector<at::Tensor>> results();

  /** @brief Computes into the first list, or returns false if kernels cannot. Does not block. */
  bool inPlace();

 private:
  struct Operand {
    at::TensorList tensors;
    at::ArrayRef<c10::Scalar> numbers;
    const at::Tensor* single = nullptr;
  };

  bool fits() const;
  bool areApart() const;
  void compute(at::TensorList outputs) const;

  const KernelFamily* family_;
  bool overwrites_ = false;
  bool rounds_ = false;
  c10::SmallVector<Operand, 3> operands_;
  at::ArrayRef<c10::Scalar> parameters_;
  std::optional<c10::Scalar> parameter_;
  at::TensorList first_;
};

} // namespace openreg
