// Fourier transforms: what torch.fft, stft and istft are made of.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/launch/pointers.h>
#include <kernels/linalg/fft.h>

#include <ATen/WrapDimUtils.h>
#include <ATen/native/SpectralOpsUtils.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cmath>

namespace openreg {
namespace {

/// A transform along one dimension.
struct Transform {
  int64_t dim;
  int64_t size;    ///< What is transformed; if the input has less, its rest is conjugates.
  int64_t outSize; ///< What is wanted of it.
  bool forward;
};

at::Tensor launchFft(const at::Tensor& self, const Transform& transform, at::ScalarType type, double scale) {
  const auto in = self.contiguous();
  auto sizes = in.sizes().vec();
  sizes[transform.dim] = transform.outSize;
  auto out = at::empty(sizes, self.options().dtype(type));
  kernels::FftArgs args{};
  args.inner = c10::multiply_integers(in.sizes().slice(transform.dim + 1));
  args.outer = c10::multiply_integers(in.sizes().slice(0, transform.dim));
  args.size = transform.size;
  args.inSize = in.size(transform.dim);
  args.outSize = transform.outSize;
  args.inType = kernelDType(in.scalar_type(), kernel<"fft">.name());
  args.outType = kernelDType(type, kernel<"fft">.name());
  args.inverse = transform.forward ? 0 : 1;
  args.scale = scale;
  args.out = out.mutable_data_ptr();
  args.in = in.const_data_ptr();
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::FftArgs, out), orAccessWrite, out.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::FftArgs, in), orAccessRead, in.nbytes()),
  };
  if (out.numel() > 0) {
    launch(kernel<"fft">, self.device().index(), args, pointers);
  }
  return out;
}

/// What results are multiplied with. @param elements How many are transformed in all dimensions.
double scaleOf(int64_t normalization, double elements) {
  switch (static_cast<at::native::fft_norm_mode>(normalization)) {
    case at::native::fft_norm_mode::by_n:
      return 1 / elements;
    case at::native::fft_norm_mode::by_root_n:
      return 1 / std::sqrt(elements);
    default:
      return 1;
  }
}

double elementsIn(const at::Tensor& self, at::IntArrayRef dims) {
  double product = 1;
  for (const auto dim : dims) {
    product *= static_cast<double>(self.size(dim));
  }
  return product;
}

/// One dimension after the other.
at::Tensor alongEach(at::Tensor self, at::IntArrayRef dims, bool forward, double scale) {
  for (const auto dim : dims) {
    const auto wrapped = c10::maybe_wrap_dim(dim, self.dim());
    const auto size = self.size(wrapped);
    self = launchFft(self, {wrapped, size, size, forward}, self.scalar_type(), scale);
    scale = 1;
  }
  return self;
}

at::Tensor complexToComplex(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, bool forward) {
  TORCH_CHECK(self.is_complex(), "_fft_c2c: expected a complex tensor, but got ", self.scalar_type());
  return dims.empty() ? self.clone() : alongEach(self, dims, forward, scaleOf(normalization, elementsIn(self, dims)));
}

at::Tensor realToComplex(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, bool oneSided) {
  TORCH_CHECK(self.is_floating_point(), "_fft_r2c: expected a real tensor, but got ", self.scalar_type());
  const auto last = c10::maybe_wrap_dim(dims.back(), self.dim());
  const auto size = self.size(last);
  const auto first = launchFft(
      self, {last, size, oneSided ? size / 2 + 1 : size, true}, c10::toComplexType(self.scalar_type()),
      scaleOf(normalization, elementsIn(self, dims)));
  return alongEach(first, dims.slice(0, dims.size() - 1), true, 1);
}

at::Tensor complexToReal(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, int64_t size) {
  TORCH_CHECK(self.is_complex(), "_fft_c2r: expected a complex tensor, but got ", self.scalar_type());
  const auto others = dims.slice(0, dims.size() - 1);
  const auto last = c10::maybe_wrap_dim(dims.back(), self.dim());
  const auto scale = scaleOf(normalization, elementsIn(self, others) * static_cast<double>(size));
  return launchFft(
      alongEach(self, others, false, 1), {last, size, size, false}, c10::toRealValueType(self.scalar_type()), scale);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_fft_c2c", complexToComplex>(m);
  implPlain<"_fft_c2c.out", IntoOutput<complexToComplex>::call>(m);
  implPlain<"_fft_r2c", realToComplex>(m);
  implPlain<"_fft_r2c.out", IntoOutput<realToComplex>::call>(m);
  implPlain<"_fft_c2r", complexToReal>(m);
  implPlain<"_fft_c2r.out", IntoOutput<complexToReal>::call>(m);
}

} // namespace
} // namespace openreg
