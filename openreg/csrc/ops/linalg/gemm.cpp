// Matrix products on the device.
#include "ops/linalg/gemm.h"

#include "ops/launch/count.h"
#include "ops/launch/dtype.h"
#include "ops/launch/kernel_family.h"
#include "ops/launch/scalar.h"

#include <kernels/launch/pointers.h>
#include <kernels/linalg/gemm.h>

#include <ATen/OpMathType.h>
#include <ATen/ops/empty_like.h>

#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: MATRIX LAYOUT
/// Whether a matrix is what the vendor's library takes: its rows, or its columns, in one piece each and apart, but not
/// farther than the library counts.
bool isPlain(const at::Tensor& matrix) {
  const auto rows = matrix.size(-2), columns = matrix.size(-1);
  const auto rowStride = matrix.stride(-2), columnStride = matrix.stride(-1);
  const auto areApart = [](int64_t lines, int64_t distance, int64_t length) {
    return lines == 1 || (distance >= length && distance <= kLargestCount);
  };
  const bool byRows = (columns == 1 || columnStride == 1) && areApart(rows, rowStride, columns);
  const bool byColumns = (rows == 1 || rowStride == 1) && areApart(columns, columnStride, rows);
  return byRows || byColumns;
}

/// An operand with all its bits resolved, and in a layout that the library takes.
at::Tensor plain(const at::Tensor& matrix) {
  const auto resolved = matrix.resolve_conj().resolve_neg();
  return isPlain(resolved) ? resolved : resolved.contiguous();
}
// LITERALINCLUDE END: MATRIX LAYOUT

kernels::Matrix describe(const at::Tensor& matrix) {
  // The stride of one row, or of one column, is any number: nobody goes that far.
  const auto stride = [&](int64_t dim) { return matrix.size(dim) == 1 ? 1 : matrix.stride(dim); };
  return {const_cast<void*>(matrix.const_data_ptr()), stride(-2), stride(-1), matrix.dim() == 3 ? matrix.stride(0) : 0};
}

orPointerArg pointer(size_t offset, uint32_t access, const at::Tensor& matrix) {
  c10::SmallVector<int64_t, 3> strides;
  for (const auto stride : matrix.strides()) {
    strides.push_back(stride * matrix.element_size());
  }
  return kernels::stridedPointer(
      offset, access, static_cast<int>(matrix.dim()), matrix.sizes().data(), strides.data(), matrix.element_size());
}

// LITERALINCLUDE START: LAUNCH GEMM
void launchGemm(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b,
    const c10::Scalar& beta,
    const c10::Scalar& alpha) {
  kernels::GemmArgs args{};
  args.c = describe(out);
  args.a = describe(a);
  args.b = describe(b);
  args.batch = out.dim() == 3 ? out.size(0) : 1;
  args.m = out.size(-2);
  args.n = out.size(-1);
  args.k = a.size(-1);
  args.dtype = kernelDType(out.scalar_type(), kernelFamily<"gemm">.name());
  putScalar(args.alpha, alpha, args.dtype);
  putScalar(args.beta, beta, args.dtype);
  const std::array pointers = {
      pointer(offsetof(kernels::GemmArgs, c.data), orAccessRead | orAccessWrite, out),
      pointer(offsetof(kernels::GemmArgs, a.data), orAccessRead, a),
      pointer(offsetof(kernels::GemmArgs, b.data), orAccessRead, b),
  };
  const auto device = out.device().index();
  launch(kernelFamily<"gemm">.get(out.scalar_type(), device), device, args, pointers);
}
// LITERALINCLUDE END: LAUNCH GEMM

} // namespace

// LITERALINCLUDE START: MULTIPLY MATRICES
void multiplyMatrices(
    const at::Tensor& out,
    const at::Tensor& a,
    const at::Tensor& b,
    const c10::Scalar& beta,
    const c10::Scalar& alpha) {
  TORCH_CHECK(
      a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
  const bool readsOut = !beta.equal(0);
  if (out.numel() == 0) {
    return;
  }
  if (a.size(-1) == 0) { // a sum of nothing
    readsOut ? out.mul_(beta) : out.zero_();
    return;
  }
  if (!at::isIntegralType(out.scalar_type(), true)) { // those are multiplied by a kernel that counts in 64 bits
    checkCount("matmul", "rows", out.size(-2));
    checkCount("matmul", "columns", out.size(-1));
    checkCount("matmul", "factors of an element", a.size(-1));
  }
  const auto wide = at::toOpMathType(out.scalar_type());
  // A layout that the library cannot write, or memory that it would read while it writes, or complex halves.
  if ((wide != out.scalar_type() && out.is_complex()) || !isPlain(out) || out.is_alias_of(a) || out.is_alias_of(b)) {
    auto result = at::empty_like(out, out.options().dtype(wide), at::MemoryFormat::Contiguous);
    if (readsOut) {
      result.copy_(out);
    }
    multiplyMatrices(result, a.to(wide), b.to(wide), beta, alpha);
    out.copy_(result);
    return;
  }
  if (out.stride(-1) == 1 || out.size(-1) == 1) {
    launchGemm(out, plain(a), plain(b), beta, alpha);
  } else { // By columns, which are the rows of the transposed product.
    launchGemm(out.mT(), plain(b).mT(), plain(a).mT(), beta, alpha);
  }
}
// LITERALINCLUDE END: MULTIPLY MATRICES

} // namespace openreg
