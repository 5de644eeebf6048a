// fill_ and zero_: one value into a tensor.
#include "ops/launch/kernel.h"
#include "ops/structured/native.h"

#include <kernels/factory/fill.h>
#include <kernels/launch/pointers.h>

#include <ATen/Dispatch_v2.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <cstring>

namespace openreg {
namespace {

// LITERALINCLUDE START: FILL
/// The value as the bytes of one element.
void putElement(unsigned char (&bytes)[16], const at::Scalar& value, at::ScalarType type) {
  AT_DISPATCH_V2(
      type, "fill_", AT_WRAP([&] {
        const auto element = value.to<scalar_t>();
        std::memcpy(bytes, &element, sizeof(element));
      }),
      AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), AT_EXPAND(AT_FLOAT8_TYPES),
      at::kBool, at::kHalf, at::kBFloat16, at::kComplexHalf);
}

at::Tensor& fill(at::Tensor& self, const at::Scalar& value) {
  kernels::FillArgs args{};
  putElement(args.value, value, self.scalar_type());
  if (self.numel() == 0) {
    return self;
  }
  if (self.dim() > kernels::kMaxDims) {
    for (int64_t i = 0; i < self.size(0); ++i) {
      auto slice = self.select(0, i);
      fill(slice, value);
    }
    return self;
  }
  args.dst = self.mutable_data_ptr();
  args.elementSize = self.element_size();
  args.dims = self.dim();
  for (int i = 0; i < args.dims; ++i) {
    args.sizes[i] = self.size(i);
    args.strides[i] = self.stride(i) * args.elementSize;
  }
  const std::array pointers = {kernels::stridedPointer(
      offsetof(kernels::FillArgs, dst), orAccessWrite, static_cast<int>(args.dims), args.sizes, args.strides,
      args.elementSize)};
  launch(kernel<"fill">, self.device().index(), args, pointers);
  return self;
}
// LITERALINCLUDE END: FILL

at::Tensor& fillWithTensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
      " dimensions.");
  // A copy broadcasts, casts, crosses devices, and waits for nobody if the value is on the device.
  return self.copy_(value);
}

at::Tensor& zero(at::Tensor& self) {
  return fill(self, 0);
}

// LITERALINCLUDE START: REGISTER FILL
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "fill_.Scalar", fill);
  implNative(m, "fill_.Tensor", fillWithTensor);
  implNative(m, "zero_", zero);
}
// LITERALINCLUDE END: REGISTER FILL

} // namespace
} // namespace openreg
