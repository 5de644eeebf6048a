// nonzero: where the elements are that are not 0. How many there are decides the shape of the result, so the device
// counts them first, and this is one of the few operators that wait for an answer.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/indexing/nonzero.h>
#include <kernels/launch/pointers.h>

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::NonzeroArgs;

// LITERALINCLUDE START: NONZERO
/// A search of one tensor.
class Search {
 public:
  explicit Search(const at::Tensor& self)
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
            offsetof(NonzeroArgs, input), orAccessRead, args_.dims, args_.sizes, args_.strides, self.element_size()),
        kernels::contiguousPointer(offsetof(NonzeroArgs, counts), orAccessRead | orAccessWrite, counts_.nbytes()),
    };
    launch(kernel<"nonzero_count">, device_.index(), args_, std::span(pointers_).first(2));
  }

  /// How many there are. Blocks until the device has counted them.
  int64_t count() const { return counts_.select(0, -1).item<int64_t>(); }

  /// Queues the writing of the first indices, as many as there are rows; a matrix without gaps.
  void put(const at::Tensor& rows) {
    if (rows.numel() > 0) {
      args_.indices = rows.mutable_data_ptr<int64_t>();
      args_.limit = rows.size(0);
      args_.rowStride = rows.stride(0);
      args_.columnStride = rows.stride(1);
      pointers_[2] = kernels::contiguousPointer(offsetof(NonzeroArgs, indices), orAccessWrite, rows.nbytes());
      launch(kernel<"nonzero">, device_.index(), args_, pointers_);
    }
  }

 private:
  static int64_t chunks(const at::Tensor& self) {
    return (self.numel() + kernels::kNonzeroChunk - 1) / kernels::kNonzeroChunk;
  }

  c10::Device device_;
  at::Tensor counts_;
  NonzeroArgs args_{};
  std::array<orPointerArg, 3> pointers_;
};

at::Tensor nonzero(const at::Tensor& self) {
  Search search(self);
  // One dimension's indices after the other's: so the CPU lays them out, and compiled code counts on it.
  const auto count = search.count();
  auto rows = at::empty_strided({count, self.dim()}, {1, count}, self.options().dtype(at::kLong));
  search.put(rows);
  return rows;
}
// LITERALINCLUDE END: NONZERO

at::Tensor& nonzeroOut(const at::Tensor& self, at::Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == at::kLong, "nonzero: Expected out tensor to have scalar type Long but got scalar type ",
      out.scalar_type());
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  return copyResult(nonzero(self), out);
}

/// The size is given, so nobody waits.
at::Tensor nonzeroStatic(const at::Tensor& self, int64_t size, int64_t fillValue) {
  TORCH_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  auto rows = at::empty({size, self.dim()}, self.options().dtype(at::kLong)).fill_(fillValue);
  Search(self).put(rows);
  return rows;
}

at::Tensor& nonzeroStaticOut(const at::Tensor& self, int64_t size, int64_t fillValue, at::Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == at::kLong,
      "nonzero_static: Expected out tensor to have scalar type Long but got scalar type ", out.scalar_type());
  return copyResult(nonzeroStatic(self, size, fillValue), out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"nonzero", nonzero>(m);
  implPlain<"nonzero.out", nonzeroOut>(m);
  implPlain<"nonzero_static", nonzeroStatic>(m);
  implPlain<"nonzero_static.out", nonzeroStaticOut>(m);
}

} // namespace
} // namespace openreg
