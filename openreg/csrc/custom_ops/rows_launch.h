// Launches of kernels over rows of numbers of any type.
#pragma once

#include "ops/launch/kernel_family.h"

#include <kernels/launch/pointers.h>
#include <kernels/normalization/rms_norm.h>

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

namespace openreg {

/** @brief Whether a kernel can take a tensor's rows where they are: each as far from the one before as the next. */
bool hasEvenRows(const at::Tensor& tensor);

/** @brief Where a tensor's rows are. @param tensor Has even rows, at least one dimension and at least one element. */
kernels::NumberRows numberRows(const at::Tensor& tensor, const char* op);

// LITERALINCLUDE START: ROWS LAUNCH
/// A launch that is being put together: arguments, their pointers, and the tensors that have to live until it is
/// queued.
template <class Args>
class RowsLaunch {
 public:
  /** @param family Its kernels. @param like Says the type and the device, and how many rows and columns there are. */
  RowsLaunch(const KernelFamily& family, const at::Tensor& like) : family_(family), like_(like) {
    args.columns = like.size(-1);
    args.rows = args.columns == 0 ? c10::multiply_integers(like.sizes().slice(0, static_cast<size_t>(like.dim() - 1)))
                                  : like.numel() / args.columns;
  }

  /** @brief Rows that the kernel reads: the tensor's own, or those of a copy. */
  void reads(kernels::NumberRows Args::* member, const at::Tensor& tensor) {
    put(args.*member, orAccessRead, hasEvenRows(tensor) ? tensor : tensor.contiguous());
  }

  /** @brief Rows that the kernel writes, and may read. @param tensor Has even rows; nothing if it is undefined. */
  void writes(kernels::NumberRows Args::* member, const at::Tensor& tensor) {
    if (tensor.defined()) {
      put(args.*member, static_cast<uint32_t>(int{orAccessRead} | int{orAccessWrite}), tensor);
    }
  }

  /** @brief A contiguous array: of the type that the kernel computes in, or what the member points to. */
  template <class Element>
  void array(Element* Args::* member, uint32_t access, const at::Tensor& tensor) {
    const auto whole = tensor.contiguous();
    if (whole.numel() > 0) {
      args.*member = static_cast<Element*>(const_cast<void*>(whole.const_data_ptr()));
      pointers_[count_++] =
          kernels::contiguousPointer(kernels::offsetIn(args, &(args.*member)), access, whole.nbytes());
      kept_.push_back(whole);
    }
  }

  /** @brief Queues the kernel on the current stream of the device. Does not block. */
  void run() const {
    const auto device = like_.device().index();
    launch(family_.get(like_.scalar_type(), device), device, args, std::span(pointers_).first(count_));
  }

  Args args{};

 private:
  void put(kernels::NumberRows& rows, uint32_t access, const at::Tensor& tensor) {
    if (tensor.numel() > 0) {
      rows = numberRows(tensor, family_.name());
      const std::array<int64_t, 2> sizes = {tensor.size(-1), tensor.numel() / tensor.size(-1)};
      const std::array<int64_t, 2> strides = {rows.column, rows.row};
      pointers_[count_++] = kernels::stridedPointer(
          kernels::offsetIn(args, &rows.data), access, 2, sizes.data(), strides.data(), tensor.element_size());
      kept_.push_back(tensor);
    }
  }

  const KernelFamily& family_;
  at::Tensor like_;
  std::array<orPointerArg, 8> pointers_;
  size_t count_ = 0;
  std::vector<at::Tensor> kept_;
};
// LITERALINCLUDE END: ROWS LAUNCH

} // namespace openreg
