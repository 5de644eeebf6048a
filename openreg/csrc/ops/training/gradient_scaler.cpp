// What torch.amp.GradScaler needs: gradients of a scaled loss are scaled back, and the scale follows what they can
// bear.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/training/gradient_scaler.h>

#include <torch/library.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace openreg {
namespace {

using kernels::UnscaleArgs;

void checkNumber(const char* name, const at::Tensor& tensor, at::ScalarType type) {
  TORCH_CHECK(tensor.numel() == 1, name, " must be a 1-element tensor, but has ", tensor.numel(), " elements");
  TORCH_CHECK(tensor.scalar_type() == type, name, " must be a ", type, " tensor, but is a ", tensor.scalar_type());
}

/// Gradients of one type share launches, as many as fit into one.
class Unscaling {
 public:
  Unscaling(const at::Tensor& found, const at::Tensor& inverseScale) : found_(found), inverseScale_(inverseScale) {
    args_.found = found.mutable_data_ptr<float>();
    args_.inverseScale = const_cast<float*>(inverseScale.const_data_ptr<float>());
    args_.count = 0;
  }

  void add(const at::Tensor& gradient) {
    if (!arrays_.empty() && (arrays_.size() == kMaxUnscaled || arrays_[0].first.dtype() != gradient.dtype())) {
      flush();
    }
    const auto& array = arrays_.emplace_back(gradient, asArray(gradient)).second;
    args_.gradients[args_.count++] = {array.mutable_data_ptr(), array.numel()};
  }

  void flush() {
    if (arrays_.empty()) {
      return;
    }
    constexpr auto kReadWrite = static_cast<uint32_t>(orAccessRead) | static_cast<uint32_t>(orAccessWrite);
    std::array<orPointerArg, kMaxUnscaled + 2> pointers;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const auto offset = kernels::offsetIn(args_, &args_.gradients[i].elements);
      pointers[i + 2] = kernels::contiguousPointer(offset, kReadWrite, arrays_[i].second.nbytes());
    }
    pointers[0] = kernels::contiguousPointer(offsetof(UnscaleArgs, found), kReadWrite, found_.nbytes());
    pointers[1] = kernels::contiguousPointer(offsetof(UnscaleArgs, inverseScale), orAccessRead, inverseScale_.nbytes());
    const auto& kernel = kernelFamily<"amp_unscale">.get(arrays_[0].first.scalar_type(), found_.device().index());
    launch(kernel, found_.device().index(), args_, std::span(pointers).first(arrays_.size() + 2), args_.size());
    for (const auto& [gradient, array] : arrays_) {
      if (!array.is_same(gradient)) {
        gradient.copy_(array);
      }
    }
    arrays_.clear();
    args_.count = 0;
  }

 private:
  static constexpr size_t kMaxUnscaled = kernels::kMaxUnscaled;

  at::Tensor found_;
  at::Tensor inverseScale_;
  UnscaleArgs args_;
  std::vector<std::pair<at::Tensor, at::Tensor>> arrays_; // each gradient, and it as the kernel wants it
};

void unscale(at::TensorList gradients, at::Tensor& found, const at::Tensor& inverseScale) {
  checkNumber("found_inf", found, at::kFloat);
  checkNumber("inv_scale", inverseScale, at::kFloat);
  for (const auto& gradient : gradients) { // some gradients unscaled, and others not, could not be left to the CPU
    (void)kernelFamily<"amp_unscale">.get(gradient.scalar_type(), found.device().index());
  }
  Unscaling unscaling(found, inverseScale);
  for (const auto& gradient : gradients) {
    unscaling.add(gradient);
  }
  unscaling.flush();
}

at::Tensor& updateScale(
    at::Tensor& scale, at::Tensor& steps, const at::Tensor& found, double growth, double backoff, int64_t interval) {
  checkNumber("current_scale", scale, at::kFloat);
  checkNumber("growth_tracker", steps, at::kInt);
  checkNumber("found_inf", found, at::kFloat);
  using Args = kernels::UpdateScaleArgs;
  launchOverArrays(
      kernelFamily<"amp_update_scale">, scale, Args{.growth = growth, .backoff = backoff, .interval = interval},
      {writes("scale", &Args::scale, scale), writes("steps", &Args::steps, steps),
       reads("found", &Args::found, found)});
  return scale;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_amp_foreach_non_finite_check_and_unscale_", unscale>(m);
  implPlain<"_amp_update_scale_", updateScale>(m);
}

} // namespace
} // namespace openreg
