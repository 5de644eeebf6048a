// A search for the elements of a tensor that are not 0, with a count that the host waits for in the middle.
#pragma once

#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"

#include <kernels/indexing/nonzero.h>
#include <kernels/launch/pointers.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <array>
#include <span>

namespace openreg {

// LITERALINCLUDE START: NONZERO SEARCH
/// A search of one tensor, which stays as it is until the search is over.
class NonzeroSearch {
 public:
  /// Queues the count.
  explicit NonzeroSearch(const at::Tensor& self)
      : device_(self.device()), counts_(at::empty({chunks(self) + 1}, self.options().dtype(at::kLong))) {
    TORCH_CHECK(self.dim() <= kernels::kMaxDims, "nonzero: ", self.dim(), " dimensions are more than kernels take");
    args_.input = self.const_data_ptr();
    args_.counts = counts_.mutable_data_ptr<int64_t>();
    args_.dtype = kernelDType(self.scalar_type(), kernel<"nonzero">.name());
    args_.dims = static_cast<int>(self.dim());
    for (int i = 0; i < args_.dims; ++i) { // device code has the fastest dimension first
      args_.sizes[i] = self.size(-1 - i);
      args_.strides[i] = self.stride(-1 - i) * self.element_size();
    }
    pointers_ = {
        kernels::stridedPointer(
            offsetof(kernels::NonzeroArgs, input), orAccessRead, args_.dims, args_.sizes, args_.strides,
            self.element_size()),
        kernels::contiguousPointer(
            offsetof(kernels::NonzeroArgs, counts), orAccessRead | orAccessWrite, counts_.nbytes()),
    };
    launch(kernel<"nonzero_count">, device_.index(), args_, pointers_);
  }

  /// How many there are. Blocks until the device has counted them.
  int64_t count() const { return counts_.select(0, -1).item<int64_t>(); }

  /// Queues the writing of the first indices, as many as there are rows; a matrix without gaps.
  void putIndices(const at::Tensor& rows) {
    if (rows.numel() > 0) {
      args_.indices = rows.mutable_data_ptr<int64_t>();
      args_.limit = rows.size(0);
      args_.rowStride = rows.stride(0);
      args_.columnStride = rows.stride(1);
      const std::array pointers = {
          pointers_[0],
          pointers_[1],
          kernels::contiguousPointer(offsetof(kernels::NonzeroArgs, indices), orAccessWrite, rows.nbytes()),
      };
      launch(kernel<"nonzero">, device_.index(), args_, pointers);
    }
  }

  /// Queues the copying of what the tensor, a mask, chooses of `source`. @param source Contiguous, of the mask's size.
  /// @param values Contiguous, of the size that was counted.
  void putSelected(const at::Tensor& source, const at::Tensor& values) {
    if (values.numel() > 0) {
      using Args = kernels::MaskedSelectArgs;
      static_assert(offsetof(Args, mask) == 0); // what points into the mask's arguments points into these
      const Args args{args_, source.const_data_ptr(), values.mutable_data_ptr(), source.element_size()};
      const std::array pointers = {
          pointers_[0],
          pointers_[1],
          kernels::contiguousPointer(offsetof(Args, source), orAccessRead, source.nbytes()),
          kernels::contiguousPointer(offsetof(Args, values), orAccessWrite, values.nbytes()),
      };
      launch(kernel<"masked_select">, device_.index(), args, pointers);
    }
  }

 private:
  static int64_t chunks(const at::Tensor& self) {
    return (self.numel() + kernels::kNonzeroChunk - 1) / kernels::kNonzeroChunk;
  }

  c10::Device device_;
  at::Tensor counts_;
  kernels::NonzeroArgs args_{};
  std::array<orPointerArg, 2> pointers_;
};
// LITERALINCLUDE END: NONZERO SEARCH

} // namespace openreg
