// Operators that fill a tensor with whole numbers: random_, geometric_, bernoulli_.
#include "ops/structured/native.h"
#include "random/draw.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/bernoulli_native.h>
#include <ATen/ops/geometric_native.h>
#include <ATen/ops/random_native.h>
#include <kernels/random/random.h>
#include <torch/library.h>

namespace openreg {
namespace {

using OptionalGenerator = std::optional<at::Generator>;

void checkNotComplex(const char* op, at::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isComplexType(type), '"', op, "\" not implemented for '", type, "'");
}

/// Fills a tensor of any real type with `count` integers from `from` on.
void drawIntegers(
    const at::TensorIteratorBase& nullary, int64_t from, uint64_t count, const OptionalGenerator& generator) {
  checkNotComplex("random", nullary.dtype(0));
  const auto iter = inLogicalOrder({nullary.tensor_base(0)});
  draw(kernelFamily<"random">, at::kLong, 64, iter, generator, kernels::IntegersParameters{{}, from, count});
}

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures are PyTorch's.
void randomFromToKernel(at::TensorIteratorBase& iter, uint64_t range, int64_t from, OptionalGenerator generator) {
  drawIntegers(iter, from, range, generator);
}

void randomFull64BitsRangeKernel(at::TensorIteratorBase& iter, OptionalGenerator generator) {
  const auto type = iter.dtype(0);
  TORCH_CHECK(
      type == at::kLong || type == at::kDouble || type == at::kFloat || type == at::kBFloat16,
      "random_ of all 64-bit integers is for int64, double, float and bfloat16; argument 'self' is ", type);
  drawIntegers(iter, 0, 0, generator); // 2^64 of them, whichever is the first
}

/// How many integers from 0 on a type holds exactly.
uint64_t exactIntegers(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return 2;
    case at::kByte:
      return uint64_t{1} << 8;
    case at::kChar:
      return uint64_t{1} << 7;
    case at::kShort:
      return uint64_t{1} << 15;
    case at::kUInt16:
      return uint64_t{1} << 16;
    case at::kInt:
      return uint64_t{1} << 31;
    case at::kUInt32:
      return uint64_t{1} << 32;
    case at::kLong:
      return uint64_t{1} << 63;
    case at::kHalf:
      return (uint64_t{1} << 11) + 1;
    case at::kBFloat16:
      return (uint64_t{1} << 8) + 1;
    case at::kFloat:
      return (uint64_t{1} << 24) + 1;
    case at::kDouble:
      return (uint64_t{1} << 53) + 1;
    default:
      return 0; // uint64: all of them
  }
}

void randomKernel(at::TensorIteratorBase& iter, OptionalGenerator generator) {
  drawIntegers(iter, 0, exactIntegers(iter.dtype(0)), generator);
}

void geometricKernel(at::TensorIteratorBase& nullary, double p, OptionalGenerator generator) {
  const auto type = nullary.dtype(0);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !at::isComplexType(type) && type != at::kBool, "\"geometric\" not implemented for '", type, "'");
  const auto iter = inLogicalOrder({nullary.tensor_base(0)});
  draw(kernelFamily<"geometric">, at::kDouble, 64, iter, generator, kernels::GeometricParameters{{}, p});
}

void bernoulliScalarKernel(const at::TensorBase& self, double p, OptionalGenerator generator) {
  checkNotComplex("bernoulli", self.scalar_type());
  const auto iter = inLogicalOrder({self});
  draw(kernelFamily<"bernoulli">, at::kFloat, 32, iter, generator, kernels::BernoulliParameters{{}, p});
}

// LITERALINCLUDE START: BERNOULLI TENSOR
void bernoulliTensorKernel(const at::TensorBase& self, const at::TensorBase& p, OptionalGenerator generator) {
  checkNotComplex("bernoulli", self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(
      at::isFloatingType(p.scalar_type()), "\"bernoulli\" not implemented for probabilities of type '", p.scalar_type(),
      "'");
  // Whether they are between 0 and 1 only the device can see; it says so later.
  const auto iter = inLogicalOrder({self}, {p.dim() == 0 ? at::Tensor(p) : at::Tensor(p).expand(self.sizes())});
  draw(kernelFamily<"bernoulli_tensor">, at::kFloat, 32, iter, generator, kernels::BernoulliTensorParameters{});
}
// LITERALINCLUDE END: BERNOULLI TENSOR

// NOLINTEND(performance-unnecessary-value-param)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using Optional = OptionalGenerator;
  using at::Tensor;
  using at::native::bernoulli_;
  using at::native::random_;
  implNative(m, "random_", static_cast<Tensor& (*)(Tensor&, Optional)>(random_));
  implNative(m, "random_.to", static_cast<Tensor& (*)(Tensor&, int64_t, Optional)>(random_));
  implNative(m, "random_.from", static_cast<Tensor& (*)(Tensor&, int64_t, std::optional<int64_t>, Optional)>(random_));
  implNative(m, "geometric_", at::native::geometric_);
  implNative(m, "bernoulli_.float", static_cast<Tensor& (*)(Tensor&, double, Optional)>(bernoulli_));
  implNative(m, "bernoulli_.Tensor", static_cast<Tensor& (*)(Tensor&, const Tensor&, Optional)>(bernoulli_));
  implNative(m, "bernoulli.out", at::native::bernoulli_out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(random_stub, &openreg::randomKernel)
REGISTER_PRIVATEUSE1_DISPATCH(random_from_to_stub, &openreg::randomFromToKernel)
REGISTER_PRIVATEUSE1_DISPATCH(random_full_64_bits_range_stub, &openreg::randomFull64BitsRangeKernel)
REGISTER_PRIVATEUSE1_DISPATCH(geometric_stub, &openreg::geometricKernel)
REGISTER_PRIVATEUSE1_DISPATCH(bernoulli_scalar_stub, &openreg::bernoulliScalarKernel)
REGISTER_PRIVATEUSE1_DISPATCH(bernoulli_tensor_stub, &openreg::bernoulliTensorKernel)
} // namespace at::native
