// tril, triu, the indices of triangles, and eye.
#include "ops/launch/kernel.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <kernels/factory/triangle.h>
#include <kernels/launch/pointers.h>

#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tril_meta.h>
#include <ATen/ops/triu_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

void launchTriangle(const at::Tensor& self, int64_t diagonal, bool upper, const at::Tensor& out) {
  if (self.numel() == 0) {
    return;
  }
  TORCH_CHECK(self.dim() <= kernels::kMaxDims, "tril: ", self.dim(), " dimensions are more than kernels take");
  kernels::TriangleArgs args{};
  args.out = out.mutable_data_ptr();
  args.in = self.const_data_ptr();
  args.elementSize = self.element_size();
  args.diagonal = diagonal;
  args.upper = upper ? 1 : 0;
  args.dims = static_cast<int>(self.dim());
  for (int i = 0; i < args.dims; ++i) { // device code has the fastest dimension first
    args.sizes[i] = self.size(-1 - i);
    args.outStrides[i] = out.stride(-1 - i) * args.elementSize;
    args.inStrides[i] = self.stride(-1 - i) * args.elementSize;
  }
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(kernels::TriangleArgs, out), orAccessWrite, args.dims, args.sizes, args.outStrides,
          args.elementSize),
      kernels::stridedPointer(
          offsetof(kernels::TriangleArgs, in), orAccessRead, args.dims, args.sizes, args.inStrides, args.elementSize),
  };
  launch(kernel<"triangle">, self.device().index(), args, pointers);
}

struct TrilImpl : at::meta::structured_tril {
  void impl(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
    launchTriangle(self, diagonal, false, out);
  }
};

struct TriuImpl : at::meta::structured_triu {
  void impl(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
    launchTriangle(self, diagonal, true, out);
  }
};

at::Tensor triangleIndices(
    int64_t rows,
    int64_t columns,
    int64_t diagonal,
    bool upper,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device) {
  const auto index = type.value_or(at::kLong);
  at::native::check_args(rows, columns, layout);
  TORCH_CHECK_NOT_IMPLEMENTED(
      index == at::kLong || index == at::kInt, upper ? "\"triu" : "\"tril", "_indices\" not implemented for '",
      c10::toString(index), "'");
  const auto options = at::TensorOptions().dtype(index).device(device);
  const int64_t lower = at::native::get_tril_size(rows, columns, upper ? diagonal - 1 : diagonal);
  kernels::TriangleIndicesArgs args{};
  args.count = upper ? rows * columns - lower : lower;
  auto out = at::empty({2, args.count}, options);
  args.out = out.mutable_data_ptr();
  args.elementSize = out.element_size();
  args.rows = rows;
  args.columns = columns;
  args.diagonal = diagonal;
  args.upper = upper ? 1 : 0;
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::TriangleIndicesArgs, out), orAccessWrite, out.nbytes())};
  if (args.count > 0) {
    launch(kernel<"triangle_indices">, out.device().index(), args, pointers);
  }
  return out;
}

at::Tensor trilIndices(
    int64_t rows,
    int64_t columns,
    int64_t diagonal,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> /*pinMemory*/) {
  return triangleIndices(rows, columns, diagonal, false, type, layout, device);
}

at::Tensor triuIndices(
    int64_t rows,
    int64_t columns,
    int64_t diagonal,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> /*pinMemory*/) {
  return triangleIndices(rows, columns, diagonal, true, type, layout, device);
}

at::Tensor& eyeRectangleOut(int64_t rows, int64_t columns, at::Tensor& out) {
  TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  out.resize_({rows, columns}).zero_();
  out.diagonal().fill_(1);
  return out;
}

at::Tensor& eyeOut(int64_t rows, at::Tensor& out) {
  return eyeRectangleOut(rows, rows, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<TrilImpl, "tril.out">>(m, "tril");
  implForms<Structured<TriuImpl, "triu.out">>(m, "triu");
  implPlain<"tril_indices", trilIndices>(m);
  implPlain<"triu_indices", triuIndices>(m);
  implPlain<"eye.out", eyeOut>(m);
  implPlain<"eye.m_out", eyeRectangleOut>(m);
}

} // namespace
} // namespace openreg
