// Attention in one kernel: behind torch.nn.functional.scaled_dot_product_attention.
#include "ops/launch/arrays.h"
#include "ops/launch/count.h"
#include "ops/launch/dtype.h"
#include "ops/sequence/attention_choice.h"
#include "ops/structured/plain.h"
#include "random/generator.h"

#include <kernels/sequence/attention.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/library.h>

#include <cmath>
#include <tuple>

namespace openreg {
namespace {

using kernels::AttentionArgs;
using kernels::AttentionRows;

/// A launch that is being put together.
class AttentionLaunch {
 public:
  AttentionLaunch(
      const at::Tensor& query,
      const at::Tensor& key,
      const at::Tensor& value,
      const at::Tensor& bias,
      bool causal,
      double dropout,
      std::optional<double> scale)
      : type_(query.scalar_type()), device_(query.device().index()) {
    args_.batch = query.size(0);
    args_.heads = query.size(1);
    args_.queries = query.size(2);
    args_.width = query.size(3);
    args_.keyHeads = key.size(1);
    args_.keys = key.size(2);
    args_.valueWidth = value.size(3);
    args_.scale = scale.value_or(1 / std::sqrt(static_cast<double>(args_.width)));
    args_.causal = causal ? 1 : 0;
    args_.keep = 1 - dropout;
    checkCount("attention", "numbers of a query", args_.width);
    checkCount("attention", "numbers of a value", args_.valueWidth);
    read(args_.query, query);
    read(args_.key, key);
    read(args_.value, value);
    if (bias.defined()) {
      const auto pairs = bias.expand({args_.batch, args_.heads, args_.queries, args_.keys});
      args_.bias = pairs.const_data_ptr();
      args_.biasType = kernelDType(pairs.scalar_type(), kernelFamily<"attention">.name());
      for (size_t i = 0; i < 4; ++i) {
        args_.biasStrides[i] = pairs.strides()[i] * pairs.element_size();
      }
      pointer(&args_.bias, orAccessRead, pairs);
    }
  }

  /// Rows that the kernel reads: the tensor's own, or those of a copy.
  void read(AttentionRows& rows, const at::Tensor& tensor) {
    put(rows, orAccessRead, areRows(tensor) ? tensor : asArray(tensor).contiguous());
  }

  /// Rows that the kernel writes, and may read: the tensor's own, or such that finish() copies.
  void write(AttentionRows& rows, const at::Tensor& tensor) {
    const bool isOwn = areRows(tensor);
    const auto array = isOwn ? tensor : at::empty(tensor.sizes(), tensor.options().dtype(arrayType(type_)));
    put(rows, static_cast<uint32_t>(int{orAccessRead} | int{orAccessWrite}), array);
    if (!isOwn) {
      copies_.emplace_back(tensor, array);
    }
  }

  void logSumExp(const at::Tensor& tensor, uint32_t access) {
    args_.logSumExp = const_cast<void*>(tensor.const_data_ptr());
    pointer(&args_.logSumExp, access, tensor);
  }

  void numbers(const kernels::PhiloxRange& numbers) {
    args_.numbers = numbers;
    if (const auto bytes = kernels::capturedBytes(numbers); bytes > 0) {
      pointers_[pointerCount_++] =
          kernels::contiguousPointer(kernels::offsetIn(args_, &args_.numbers.captured), orAccessRead, bytes);
    }
  }

  AttentionArgs& args() { return args_; }

  /// Queues the kernel, and the copies behind it.
  void run(const KernelFamily& family) {
    launch(family.get(type_, device_), device_, args_, std::span(pointers_).first(pointerCount_));
    for (const auto& [to, from] : copies_) {
      to.copy_(from);
    }
  }

 private:
  /// The kernel's library for products takes rows that lie apart, and not farther than it counts.
  bool areRows(const at::Tensor& tensor) const {
    const auto width = tensor.size(3), distance = tensor.stride(2);
    return tensor.scalar_type() == arrayType(type_) && (width == 1 || tensor.stride(3) == 1) &&
           (tensor.size(2) == 1 || (distance >= width && distance <= kLargestCount));
  }

  void put(AttentionRows& rows, uint32_t access, const at::Tensor& tensor) {
    kept_.push_back(tensor);
    rows.data = const_cast<void*>(tensor.const_data_ptr());
    rows.strides[0] = tensor.stride(0);
    rows.strides[1] = tensor.stride(1);
    rows.strides[2] = tensor.size(2) == 1 ? tensor.size(3) : tensor.stride(2); // of one row it is any number
    pointer(&rows.data, access, tensor);
  }

  void pointer(const void* place, uint32_t access, const at::Tensor& tensor) {
    c10::SmallVector<int64_t, 4> strides;
    for (const auto stride : tensor.strides()) {
      strides.push_back(stride * tensor.element_size());
    }
    pointers_[pointerCount_++] = kernels::stridedPointer(
        kernels::offsetIn(args_, place), access, static_cast<int>(tensor.dim()), tensor.sizes().data(), strides.data(),
        tensor.element_size());
  }

  at::ScalarType type_;
  c10::DeviceIndex device_;
  AttentionArgs args_{};
  std::array<orPointerArg, 10> pointers_;
  size_t pointerCount_ = 0;
  c10::SmallVector<at::Tensor, 8> kept_;                          // until the kernel is queued
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 4> copies_; // to, from
};

/// The operators can be called without the choice having been asked.
void checkFits(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const OptionalTensor& bias,
    double dropout,
    bool causal) {
  const auto mask = bias.has_value() && bias->defined() ? OptionalTensor(bias->detach()) : std::nullopt;
  (void)kernelFamily<"attention">.get(query.scalar_type(), query.device().index());
  TORCH_CHECK(
      fitsAttention(query, key, value, mask, dropout, causal, /*sharesKeys=*/true) &&
          (!mask.has_value() || mask->scalar_type() != at::kBool),
      "_scaled_dot_product_fused_attention_overrideable: queries of shape ", query.sizes(), ", keys of ", key.sizes(),
      " and values of ", value.sizes(), " with a mask of ", mask.has_value() ? mask->sizes() : at::IntArrayRef(),
      " and dropout ", dropout,
      "; expected what scaled_dot_product_attention() sends here: four dimensions and one "
      "data type, a mask or is_causal, and a dropout from 0 to below 1");
}

/// The numbers that dropout begins with, as two tensors on the host, where the backward reads them without a wait. Each
/// is a single number, as PyTorch's compiler has been told. Of captured ones the first is where they are, and the
/// second is negative, to tell them apart.
std::pair<at::Tensor, at::Tensor> keep(const kernels::PhiloxRange& numbers) {
  const bool captured = numbers.captured != nullptr;
  const auto seed = captured ? reinterpret_cast<int64_t>(numbers.captured) : static_cast<int64_t>(numbers.seed);
  const auto offset = static_cast<int64_t>(captured ? ~numbers.offset : numbers.offset);
  return {at::scalar_tensor(seed, at::kLong), at::scalar_tensor(offset, at::kLong)};
}

kernels::PhiloxRange kept(const at::Tensor& seed, const at::Tensor& offset) {
  const auto first = seed.item<int64_t>();
  const auto place = offset.item<int64_t>();
  return place >= 0 ? kernels::PhiloxRange{static_cast<uint64_t>(first), static_cast<uint64_t>(place)}
                    : kernels::PhiloxRange{0, ~static_cast<uint64_t>(place), reinterpret_cast<const uint64_t*>(first)};
}

// LITERALINCLUDE START: ATTENTION FORWARD
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
attention(
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const OptionalTensor& bias,
    double dropout,
    bool causal,
    bool /*debugMask*/,
    std::optional<double> scale) {
  checkFits(query, key, value, bias, dropout, causal);
  AttentionLaunch launch(query, key, value, bias.value_or(at::Tensor()), causal, dropout, scale);
  const auto& args = launch.args();
  // As the queries lie in memory, so that what splits and joins heads need not copy.
  const auto out = args.width == args.valueWidth
                       ? at::empty_like(query)
                       : at::empty({args.batch, args.heads, args.queries, args.valueWidth}, query.options());
  const auto logSumExp =
      at::empty({args.batch, args.heads, args.queries}, query.options().dtype(arrayType(query.scalar_type())));
  launch.write(launch.args().out, out);
  launch.logSumExp(logSumExp, orAccessWrite);
  kernels::PhiloxRange numbers{};
  if (dropout > 0) {
    const auto pairs = static_cast<uint64_t>(logSumExp.numel()) * static_cast<uint64_t>(args.keys);
    numbers = generatorFor(std::nullopt, query.device().index()).reserve((pairs + 3) / 4);
    launch.numbers(numbers);
  }
  const auto [seed, offset] = keep(numbers);
  launch.run(kernelFamily<"attention">);
  return {out, logSumExp, {}, {}, args.queries, args.keys, seed, offset, {}};
}
// LITERALINCLUDE END: ATTENTION FORWARD

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attentionBackward(
    const at::Tensor& gradOut,
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    const at::Tensor& bias,
    std::array<bool, 4> wanted,
    const at::Tensor& out,
    const at::Tensor& logSumExp,
    const at::Tensor& /*queryOffsets*/,
    const at::Tensor& /*keyOffsets*/,
    int64_t /*queries*/,
    int64_t /*keys*/,
    double dropout,
    bool causal,
    const at::Tensor& seed,
    const at::Tensor& offset,
    std::optional<double> scale) {
  SameDevice("_scaled_dot_product_fused_attention_overrideable_backward")
      .all(gradOut, query, key, value, bias, wanted, out, logSumExp);
  checkFits(query, key, value, bias, dropout, causal);
  TORCH_CHECK_NOT_IMPLEMENTED(
      !wanted[3] || !bias.defined(),
      "_scaled_dot_product_fused_attention_overrideable: there is no gradient of the mask; "
      "scaled_dot_product_attention() takes the math path for a mask that requires one");
  const auto type = arrayType(query.scalar_type());
  TORCH_CHECK(
      gradOut.sizes() == out.sizes() && gradOut.dtype() == out.dtype() && out.dtype() == query.dtype() &&
          logSumExp.numel() == query.numel() / query.size(3) && logSumExp.scalar_type() == type,
      "_scaled_dot_product_fused_attention_overrideable_backward: grad_out, out and logsumexp are not those of a "
      "forward of these queries");
  AttentionLaunch launch(query, key, value, bias, causal, dropout, scale);
  launch.read(launch.args().gradOut, gradOut);
  launch.read(launch.args().out, out);
  const auto sums = logSumExp.contiguous();
  launch.logSumExp(sums, orAccessRead);
  const auto gradQuery = at::empty_like(query), gradKey = at::empty_like(key), gradValue = at::empty_like(value);
  launch.write(launch.args().gradQuery, gradQuery);
  launch.write(launch.args().gradKey, gradKey);
  launch.write(launch.args().gradValue, gradValue);
  if (dropout > 0) {
    launch.numbers(kept(seed, offset));
  }
  launch.run(kernelFamily<"attention_backward">);
  return {gradQuery, gradKey, gradValue, {}};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_scaled_dot_product_fused_attention_overrideable", attention>(m);
  // The numbers that dropout began with are on the CPU.
  implNative(m, "_scaled_dot_product_fused_attention_overrideable_backward", attentionBackward);
}

} // namespace
} // namespace openreg
