// nonzero: where the elements are that are not 0. How many there are decides the shape of the result, so the device
// counts them first, and this is one of the few operators that wait for an answer.
#include "ops/indexing/nonzero_search.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: NONZERO
at::Tensor nonzero(const at::Tensor& self) {
  NonzeroSearch search(self);
  // One dimension's indices after the other's: so the CPU lays them out, and compiled code counts on it.
  const auto count = search.count();
  auto rows = at::empty_strided({count, self.dim()}, {1, count}, self.options().dtype(at::kLong));
  search.putIndices(rows);
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
  NonzeroSearch(self).putIndices(rows);
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
