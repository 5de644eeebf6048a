// Kernels over contiguous arrays of the type that they compute in: convolution, pooling, normalisation and their like.
#pragma once

#include "ops/kernel_family.h"

#include <kernels/pointers.h>

#include <ATen/core/Tensor.h>

#include <cstring>
#include <initializer_list>
#include <optional>

namespace openreg {

/** @brief The type that elements of a type are computed in: float for halves, 64 bits for any integer. */
at::ScalarType arrayType(at::ScalarType type);

/** @brief A tensor's elements as a contiguous array of arrayType(); the tensor itself if it is one already. */
at::Tensor asArray(const at::Tensor& tensor);

/** @brief asArray() for an argument that may be missing; then it is undefined. */
at::Tensor asArray(const std::optional<at::Tensor>& tensor);

/** @brief What a kernel writes in place of an output that is no such array; finish() brings it there. */
class ArrayOutput {
 public:
  /** @param output May be undefined: nobody wants it, and the kernel gets a null pointer. */
  explicit ArrayOutput(const at::Tensor& output);

  const at::Tensor& array() const { return array_; }

  /** @brief Queues the copy into the output, if there is one to make. To be called when the kernel has been launched.
   */
  void finish() const;

 private:
  at::Tensor output_;
  at::Tensor array_;
};

// LITERALINCLUDE START: LAUNCH ARRAYS
/** @brief A pointer among a kernel's arguments, and the contiguous array that it is to point to. */
struct ArrayPointer {
  size_t offset; ///< Of the pointer in the argument struct.
  uint32_t access;
  at::Tensor array; ///< If undefined, the pointer is null.
};

/** @brief An array that the kernel reads. */
inline ArrayPointer reads(size_t offset, const at::Tensor& array) {
  return {offset, orAccessRead, array};
}
/** @brief An array that the kernel writes, and may read. */
inline ArrayPointer writes(size_t offset, const at::Tensor& array) {
  return {offset, orAccessRead | orAccessWrite, array};
}

/**
 * @brief Queues a kernel over arrays on the current stream of their device. Does not block.
 * @param family Kernels of the operator.
 * @param like Says the type of the operator's elements, before asArray(), and the device.
 * @param args The arguments; their pointers are set here.
 * @param pointers All of them.
 * @throws c10::NotImplementedError if the operator does not have the type.
 * @throws c10::Error if an array is on another device: PyTorch's functions that end here do not look.
 */
template <class Args>
void launchOverArrays(
    const KernelFamily& family, const at::Tensor& like, Args args, std::initializer_list<ArrayPointer> pointers) {
  constexpr size_t kMaxPointers = 12;
  TORCH_INTERNAL_ASSERT(pointers.size() <= kMaxPointers);
  std::array<orPointerArg, kMaxPointers> described;
  size_t count = 0;
  for (const auto& [offset, access, array] : pointers) {
    if (array.defined() && array.numel() > 0) {
      TORCH_CHECK(
          array.device() == like.device(), "Expected all tensors to be on the same device, but ", family.name(),
          " got some on ", like.device(), " and some on ", array.device());
      void* data = const_cast<void*>(array.const_data_ptr());
      std::memcpy(reinterpret_cast<char*>(&args) + offset, &data, sizeof(data));
      described[count++] = kernels::contiguousPointer(offset, access, array.nbytes());
    }
  }
  const auto device = like.device().index();
  launch(family.get(like.scalar_type(), device), device, args, std::span(described).first(count));
}
// LITERALINCLUDE END: LAUNCH ARRAYS

} // namespace openreg
