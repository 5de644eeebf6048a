// From a TensorIterator to the arguments of a kernel over strided operands.
#pragma once

#include "ops/launch/kernel.h"

#include <kernels/launch/operand.h>

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <initializer_list>
// LITERALINCLUDE START: LAUNCH PARAMETERS
#include <cstring>
#include <type_traits>
// LITERALINCLUDE END: LAUNCH PARAMETERS

namespace openreg {

// LITERALINCLUDE START: STRIDED LAUNCH
/**
 * @brief A launch whose operands are those of a TensorIterator, which has broadcast them, checked their overlap,
 *        allocated the outputs and put the dimensions into the fastest order.
 *
 * It has not cast them: only on the CPU does it. So each operand travels with its own type, and device code converts.
 */
class StridedLaunch {
 public:
  /**
   * @brief Reads the operands, outputs first. A CPU scalar (`x * torch.tensor(3)`) travels as its value.
   * @param iter Lives on one device of this backend and has at least one element.
   * @param type Type that the operands are converted to before anything is computed.
   * @param op Name of the operator, for errors.
   * @throws c10::Error if there are more dimensions than kernels take.
   * @throws c10::NotImplementedError for types that kernels don't know.
   */
  StridedLaunch(const at::TensorIteratorBase& iter, c10::ScalarType type, const char* op);

  /** @brief Sets the functor's fields: values of the type that it computes in. */
  void setParameters(std::initializer_list<c10::Scalar> values);

  // LITERALINCLUDE START: LAUNCH PARAMETERS
  /** @brief Sets the functor's fields as they are. @param parameters A struct that the launcher and the kernel share.
   */
  template <class Parameters>
  void setParameters(const Parameters& parameters) {
    static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= sizeof(args_.parameters));
    std::memcpy(args_.parameters, &parameters, sizeof(Parameters));
  }

  /**
   * @brief Says that one of these fields is a pointer to device memory that is read.
   * @param offset Of the pointer in the struct.
   * @param bytes How many are read there; 0 if the pointer is null.
   */
  void addPointer(size_t offset, uint64_t bytes) {
    if (bytes > 0) {
      const auto place = offsetof(kernels::StridedArgs, parameters) + offset;
      pointers_.at(pointerCount_++) = {static_cast<uint32_t>(place), orAccessRead, 0, bytes};
    }
  }
  // LITERALINCLUDE END: LAUNCH PARAMETERS

  /** @brief Queues the kernel on the current stream of the iterator's device. Does not block. */
  void on(const Kernel& kernel) const;

  c10::DeviceIndex device() const { return device_; }

 private:
  c10::DeviceIndex device_;
  kernels::StridedArgs args_;                                    // not initialised as a whole: most of it is not used
  std::array<orPointerArg, kernels::kMaxOperands + 1> pointers_; // one may be a parameter's
  size_t pointerCount_ = 0;
};
// LITERALINCLUDE END: STRIDED LAUNCH

} // namespace openreg
