// Images of another size: nearest, linear, cubic, and with filters against aliasing.
#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/structured/forms.h"

#include <kernels/image/upsample.h>

#include <ATen/ops/_upsample_bicubic2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bicubic2d_aa_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_meta.h>
#include <ATen/ops/_upsample_lanczos2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_lanczos2d_aa_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_meta.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/upsample_bicubic2d_backward_meta.h>
#include <ATen/ops/upsample_bicubic2d_meta.h>
#include <ATen/ops/upsample_bilinear2d_backward_meta.h>
#include <ATen/ops/upsample_bilinear2d_meta.h>
#include <ATen/ops/upsample_linear1d_backward_meta.h>
#include <ATen/ops/upsample_linear1d_meta.h>
#include <ATen/ops/upsample_nearest1d_backward_meta.h>
#include <ATen/ops/upsample_nearest1d_meta.h>
#include <ATen/ops/upsample_nearest2d_backward_meta.h>
#include <ATen/ops/upsample_nearest2d_meta.h>
#include <ATen/ops/upsample_nearest3d_backward_meta.h>
#include <ATen/ops/upsample_nearest3d_meta.h>
#include <ATen/ops/upsample_trilinear3d_backward_meta.h>
#include <ATen/ops/upsample_trilinear3d_meta.h>

namespace openreg {
namespace {

using kernels::Interpolation;
using kernels::UpsampleArgs;
using Factor = std::optional<double>;

UpsampleArgs describe(
    const at::Tensor& image,
    const at::Tensor& result,
    Interpolation interpolation,
    bool alignCorners,
    std::initializer_list<Factor> factors) {
  UpsampleArgs args{};
  const auto dims = static_cast<int64_t>(factors.size());
  fillExtent(args.imageSize, image.sizes().slice(2), dims, 1);
  fillExtent(args.resultSize, result.sizes().slice(2), dims, 1);
  args.planes = image.size(0) * image.size(1);
  args.interpolation = interpolation;
  args.alignCorners = alignCorners ? 1 : 0;
  auto* factor = args.factor + 3 - dims;
  for (const auto& given : factors) {
    *factor++ = given.value_or(0);
  }
  return args;
}

bool isNearest(Interpolation interpolation) {
  return interpolation == Interpolation::Nearest || interpolation == Interpolation::NearestExact;
}

void launchUpsample(const at::Tensor& image, const at::Tensor& result, const UpsampleArgs& args) {
  if (image.scalar_type() == at::kByte && !isNearest(args.interpolation)) { // pixels: weighted in float, then rounded
    const auto exact = at::empty(result.sizes(), result.options().dtype(at::kFloat));
    launchUpsample(image.to(at::kFloat), exact, args);
    result.copy_(exact.round_().clamp_(0, 255));
    return;
  }
  // Weights are parts of one: as integers they would be 0.
  TORCH_CHECK_NOT_IMPLEMENTED(
      isNearest(args.interpolation) || !at::isIntegralType(image.scalar_type(), true), '"',
      kernelFamily<"upsample">.name(), "\" not implemented for '", image.scalar_type(), "'");
  const ArrayOutput output(result);
  launchOverArrays(
      kernelFamily<"upsample">, image, args,
      {reads("self", &UpsampleArgs::image, image), writes("out", &UpsampleArgs::result, output)});
  output.finish();
}

void launchUpsampleBackward(const at::Tensor& gradImage, const at::Tensor& gradResult, const UpsampleArgs& args) {
  const ArrayOutput output(gradImage);
  launchOverArrays(
      kernelFamily<"upsample_backward">, gradImage, args,
      {writes("grad_input", &UpsampleArgs::image, output), reads("grad_output", &UpsampleArgs::result, gradResult)});
  output.finish();
}

// The classes differ in how many factors they take, and whether corners can be aligned.

template <class Meta, Interpolation interpolation, class... F>
struct Unaligned : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef /*size*/, F... factors, const at::Tensor& out) {
    launchUpsample(self, out, describe(self, out, interpolation, false, {factors...}));
  }
};
template <class Meta, Interpolation interpolation, class... F>
struct UnalignedBackward : Meta {
  void impl(
      const at::Tensor& grad,
      at::IntArrayRef /*size*/,
      at::IntArrayRef /*inputSize*/,
      F... factors,
      const at::Tensor& gradInput) {
    launchUpsampleBackward(gradInput, grad, describe(gradInput, grad, interpolation, false, {factors...}));
  }
};
template <class Meta, Interpolation interpolation, class... F>
struct Aligned : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef /*size*/, bool alignCorners, F... factors, const at::Tensor& out) {
    launchUpsample(self, out, describe(self, out, interpolation, alignCorners, {factors...}));
  }
};
template <class Meta, Interpolation interpolation, class... F>
struct AlignedBackward : Meta {
  void impl(
      const at::Tensor& grad,
      at::IntArrayRef /*size*/,
      at::IntArrayRef /*inputSize*/,
      bool alignCorners,
      F... factors,
      const at::Tensor& gradInput) {
    launchUpsampleBackward(gradInput, grad, describe(gradInput, grad, interpolation, alignCorners, {factors...}));
  }
};

template <
    Name schema,
    Name backwardSchema,
    template <class, Interpolation, class...> class Forward,
    template <class, Interpolation, class...> class Backward,
    class Meta,
    class MetaBackward,
    Interpolation interpolation,
    class... F>
void implUpsample(torch::Library& m, const std::string& op) {
  implForms<Structured<Forward<Meta, interpolation, F...>, schema>>(m, op);
  using Derivative = Structured<Backward<MetaBackward, interpolation, F...>, backwardSchema>;
  implForms<Derivative>(m, op + "_backward", {"", "grad_input"});
}

#define OPENREG_UPSAMPLE(op, kind, interpolation, ...)                                                                 \
  implUpsample<                                                                                                        \
      #op ".out", #op "_backward.grad_input", kind, kind##Backward, at::meta::structured_##op,                         \
      at::meta::structured_##op##_backward, Interpolation::interpolation, __VA_ARGS__>(m, #op)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  OPENREG_UPSAMPLE(upsample_nearest1d, Unaligned, Nearest, Factor);
  OPENREG_UPSAMPLE(upsample_nearest2d, Unaligned, Nearest, Factor, Factor);
  OPENREG_UPSAMPLE(upsample_nearest3d, Unaligned, Nearest, Factor, Factor, Factor);
  OPENREG_UPSAMPLE(_upsample_nearest_exact1d, Unaligned, NearestExact, Factor);
  OPENREG_UPSAMPLE(_upsample_nearest_exact2d, Unaligned, NearestExact, Factor, Factor);
  OPENREG_UPSAMPLE(_upsample_nearest_exact3d, Unaligned, NearestExact, Factor, Factor, Factor);
  OPENREG_UPSAMPLE(upsample_linear1d, Aligned, Linear, Factor);
  OPENREG_UPSAMPLE(upsample_bilinear2d, Aligned, Linear, Factor, Factor);
  OPENREG_UPSAMPLE(upsample_trilinear3d, Aligned, Linear, Factor, Factor, Factor);
  OPENREG_UPSAMPLE(upsample_bicubic2d, Aligned, Cubic, Factor, Factor);
  OPENREG_UPSAMPLE(_upsample_bilinear2d_aa, Aligned, LinearAntialias, Factor, Factor);
  OPENREG_UPSAMPLE(_upsample_bicubic2d_aa, Aligned, CubicAntialias, Factor, Factor);
  OPENREG_UPSAMPLE(_upsample_lanczos2d_aa, Aligned, LanczosAntialias, Factor, Factor);
}
#undef OPENREG_UPSAMPLE

} // namespace
} // namespace openreg
