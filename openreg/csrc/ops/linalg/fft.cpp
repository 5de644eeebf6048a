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

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

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

/// One dimension after the other; none is negative.
at::Tensor alongEach(at::Tensor self, at::IntArrayRef dims, bool forward, double scale) {
  for (const auto dim : dims) {
    const auto size = self.size(dim);
    self = launchFft(self, {dim, size, size, forward}, self.scalar_type(), scale);
    scale = 1;
  }
  return self;
}

/// What PyTorch's meta functions, and so its compiler, take results to be in memory: first what is not transformed, in
/// the order in which `self` has it, then what is. With an argument in that order, so is a contiguous result.
class Order {
 public:
  Order(const at::Tensor& self, at::IntArrayRef dims) {
    for (int64_t dim = 0; dim < self.dim(); ++dim) {
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) {
        order_.push_back(dim);
      }
    }
    sortByStride(self, order_, order_.end());
    order_.insert(order_.end(), dims.begin(), dims.end());
    back_.resize(order_.size());
    for (size_t place = 0; place < order_.size(); ++place) {
      back_[order_[place]] = static_cast<int64_t>(place);
    }
  }

  /// The outermost first; of those that lie alike, in the order they come in.
  static void sortByStride(const at::Tensor& self, std::vector<int64_t>& dims, std::vector<int64_t>::iterator end) {
    const auto outside = [&](int64_t one, int64_t other) { return self.stride(one) > self.stride(other); };
    for (auto next = dims.begin(); next != end; ++next) {
      std::rotate(std::upper_bound(dims.begin(), next, *next, outside), next, next + 1);
    }
  }

  at::Tensor there(const at::Tensor& self) const { return self.permute(order_); }
  at::Tensor back(const at::Tensor& result) const { return result.permute(back_); }

 private:
  std::vector<int64_t> order_;
  std::vector<int64_t> back_;
};

std::vector<int64_t> wrapped(const at::Tensor& self, at::IntArrayRef dims) {
  auto found = dims.vec();
  at::maybe_wrap_dims(found, self.dim());
  return found;
}

/// Dimensions from one to another.
std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> dims(end - begin);
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

at::Tensor complexToComplex(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, bool forward) {
  TORCH_CHECK(self.is_complex(), "_fft_c2c: expected a complex tensor, but got ", self.scalar_type());
  if (dims.empty()) {
    return self.clone();
  }
  auto sorted = wrapped(self, dims);
  Order::sortByStride(self, sorted, sorted.end());
  const Order order(self, sorted);
  const auto last = range(self.dim() - static_cast<int64_t>(dims.size()), self.dim());
  return order.back(alongEach(order.there(self), last, forward, scaleOf(normalization, elementsIn(self, dims))));
}

at::Tensor realToComplex(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, bool oneSided) {
  TORCH_CHECK(self.is_floating_point(), "_fft_r2c: expected a real tensor, but got ", self.scalar_type());
  auto sorted = wrapped(self, dims);
  Order::sortByStride(self, sorted, sorted.end() - 1);
  const Order order(self, sorted);
  const auto last = self.dim() - 1;
  const auto size = self.size(sorted.back());
  const auto first = launchFft(
      order.there(self), {last, size, oneSided ? size / 2 + 1 : size, true}, c10::toComplexType(self.scalar_type()),
      scaleOf(normalization, elementsIn(self, dims)));
  return order.back(alongEach(first, range(self.dim() - static_cast<int64_t>(dims.size()), last), true, 1));
}

at::Tensor complexToReal(const at::Tensor& self, at::IntArrayRef dims, int64_t normalization, int64_t size) {
  TORCH_CHECK(self.is_complex(), "_fft_c2r: expected a complex tensor, but got ", self.scalar_type());
  const auto others = dims.slice(0, dims.size() - 1);
  const auto scale = scaleOf(normalization, elementsIn(self, others) * static_cast<double>(size));
  const auto first = others.empty() ? self : complexToComplex(self, others, 0, false);
  const Order order(first, wrapped(self, dims.slice(dims.size() - 1)));
  return order.back(launchFft(
      order.there(first), {self.dim() - 1, size, size, false}, c10::toRealValueType(self.scalar_type()), scale));
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
