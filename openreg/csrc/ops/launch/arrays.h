// Kernels over contiguous arrays of the type that they compute in: convolution, pooling, normalisation and their like.
#pragma once

#include "ops/launch/kernel_family.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/structured_output.h"

#include <kernels/launch/pointers.h>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>

namespace openreg {

/** @brief The type that elements of a type are computed in: float for halves, 64 bits for any integer. */
at::ScalarType arrayType(at::ScalarType type);

/** @brief A tensor's elements as a contiguous array of arrayType(); the tensor itself if it is one already. */
at::Tensor asArray(const at::Tensor& tensor);

/** @brief asArray() for an argument that may be missing; then it is undefined. */
at::Tensor asArray(const std::optional<at::Tensor>& tensor);

/** @brief Whether a tensor's device has the kernel for its type: one that hasn't may have others that make it. */
inline bool hasKernel(const KernelFamily& family, const at::Tensor& tensor) {
  return family.find(tensor.scalar_type(), tensor.device().index()) != nullptr;
}

/** @brief An output that a kernel writes as such an array. @see ContiguousOutput */
class ArrayOutput : public ContiguousOutput {
 public:
  /** @param output May be undefined: nobody wants it, and the kernel gets a null pointer. */
  explicit ArrayOutput(const at::Tensor& output);
};

// LITERALINCLUDE START: LAUNCH ARRAYS
/** @brief Which type an argument may have, before it becomes an array, if the kernel wants a certain one. */
enum class Fit {
  Same,      ///< That one: what the CPU takes.
  Parameter, ///< That one; for halves float, too.
  Computed,  ///< Any whose array is of the type that the kernel takes the memory for.
};

/** @brief A pointer among a kernel's arguments, and the contiguous array that it is to point to. */
struct ArrayPointer {
  const char* name; ///< Of the operator's argument, for errors.
  size_t offset;    ///< Of the pointer in the argument struct.
  uint32_t access;
  Fit fit;
  at::ScalarType type;  ///< That the kernel takes the memory for. Undefined: the one that it computes in.
  at::ScalarType given; ///< That the argument had before it became an array.
  at::Tensor array;     ///< If undefined, the pointer is null.
};

/** @brief The type that a pointer's declaration says. A `void*` is to elements of the type that the kernel computes in.
 */
template <class Pointer, class Element = std::remove_cv_t<std::remove_pointer_t<Pointer>>>
constexpr at::ScalarType pointedType() {
  if constexpr (std::is_void_v<Element>) {
    return at::ScalarType::Undefined;
  } else {
    return c10::CppTypeToScalarType<Element>::value;
  }
}

/** @brief An array that the kernel reads: `tensor`, or what asArray() makes of it. */
template <class Args, class Pointer>
ArrayPointer reads(const char* name, Pointer Args::* member, const at::Tensor& tensor, Fit fit = Fit::Same) {
  const Args args{};
  const auto offset = kernels::offsetIn(args, &(args.*member));
  const auto given = tensor.defined() ? tensor.scalar_type() : at::ScalarType::Undefined;
  return {name, offset, orAccessRead, fit, pointedType<Pointer>(), given, asArray(tensor)};
}
template <class Args, class Pointer>
ArrayPointer
reads(const char* name, Pointer Args::* member, const std::optional<at::Tensor>& tensor, Fit fit = Fit::Same) {
  return reads(name, member, tensor.value_or(at::Tensor()), fit);
}

/** @brief An array that the kernel writes, and may read. */
template <class Args, class Pointer>
ArrayPointer writes(const char* name, Pointer Args::* member, const at::Tensor& array) {
  auto pointer = reads(name, member, at::Tensor(), Fit::Computed);
  pointer.access = orAccessRead | orAccessWrite;
  pointer.given = array.defined() ? array.scalar_type() : at::ScalarType::Undefined;
  pointer.array = array;
  return pointer;
}
template <class Args, class Pointer>
ArrayPointer writes(const char* name, Pointer Args::* member, const ArrayOutput& output) {
  return writes(name, member, output.tensor());
}

/**
 * @brief Checks that an array is what the kernel will take its memory for.
 * @param family Whose kernel it is.
 * @param pointer Its array is defined.
 * @param like As of launchOverArrays().
 * @throws c10::Error that names operator and argument if the array is on another device or of another type: PyTorch's
 *     functions that end here do not look, and the kernel cannot.
 */
void checkArray(const KernelFamily& family, const ArrayPointer& pointer, const at::Tensor& like);

/** @brief The array of one of the pointers: a copy if it is only read, and another of them is written over it. */
at::Tensor apartFromWritten(const ArrayPointer& pointer, std::initializer_list<ArrayPointer> all);

/**
 * @brief Queues a kernel over arrays on the current stream of their device. Does not block.
 * @param family Kernels of the operator.
 * @param like Says the type of the operator's elements, before asArray(), and the device.
 * @param args The arguments; their pointers are set here.
 * @param pointers All of them.
 * @throws c10::NotImplementedError if the operator does not have the type.
 * @throws c10::Error as checkArray() does.
 */
template <class Args>
void launchOverArrays(
    const KernelFamily& family, const at::Tensor& like, Args args, std::initializer_list<ArrayPointer> pointers) {
  constexpr size_t kMaxPointers = 12;
  TORCH_INTERNAL_ASSERT(pointers.size() <= kMaxPointers);
  std::array<orPointerArg, kMaxPointers> described;
  std::array<at::Tensor, kMaxPointers> arrays; // until the kernel is queued
  size_t count = 0;
  for (const auto& pointer : pointers) {
    const auto& array = arrays[count] = apartFromWritten(pointer, pointers);
    if (!array.defined()) {
      continue;
    }
    checkArray(family, pointer, like);
    if (array.numel() > 0) {
      void* data = const_cast<void*>(array.const_data_ptr());
      std::memcpy(reinterpret_cast<char*>(&args) + pointer.offset, &data, sizeof(data));
      described[count++] = kernels::contiguousPointer(pointer.offset, pointer.access, array.nbytes());
    }
  }
  const auto device = like.device().index();
  launch(family.get(like.scalar_type(), device), device, args, std::span(described).first(count));
}
// LITERALINCLUDE END: LAUNCH ARRAYS

} // namespace openreg
