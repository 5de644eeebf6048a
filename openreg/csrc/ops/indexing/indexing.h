// Launching the kernels that find elements by index tensors.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/ReductionType.h>

namespace openreg {

/// Which operands of an iterator are what. Index tensors are int64.
struct IndexOperands {
  int dense;      ///< Walked element by element.
  int indexed;    ///< Where the indices point: a view with stride 0 in the dimensions where they say where.
  int firstIndex; ///< Then one operand for each of the sizes.
};

/// What the indices of an iterator's operands mean.
struct IndexedDims {
  at::IntArrayRef sizes;   ///< Indices are less than these.
  at::IntArrayRef strides; ///< Bytes from one index to the next.
  bool wraps = false;      ///< Whether negative indices count from the end.
  int64_t dimension = 0;   ///< Of the first, for errors.
};

/// What happens to an element of `indexed`.
enum class Indexing { Read, Write, Add, Multiply, Maximum, Minimum };

/** @brief How a reduction of PyTorch's, other than the mean, combines two elements. */
Indexing indexingOf(at::native::ReductionType reduce);

/**
 * @brief Queues an indexing kernel on the current stream of the iterator's device. Does not block.
 *
 * Where two indices point to one element that is written, the last one in the iterator's order counts; sums are formed
 * in that order. An index that is out of range fails the kernel: the next synchronisation raises it.
 * @throws c10::NotImplementedError for elements of a type that has no order, or that kernels don't know.
 */
void launchIndexing(
    Indexing indexing, const at::TensorIteratorBase& iter, const IndexOperands& operands, const IndexedDims& dims);

/**
 * @brief The same for one index tensor along one dimension, as gather and scatter have it.
 * @param dense Tensor of the sizes of `index`, or one that expands to them.
 * @param indexed Tensor whose dimension `dim` the indices are about.
 * @param index Of the dimensions of `indexed`; int64 or int32.
 */
void launchAlong(
    Indexing indexing,
    const at::Tensor& dense,
    const at::Tensor& indexed,
    int64_t dim,
    const at::Tensor& index,
    bool wraps = false);

} // namespace openreg
