// Borders out of an image's own elements: reflection and replication.
#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <kernels/image/pad.h>

#include <ATen/native/Padding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/reflection_pad1d_backward_meta.h>
#include <ATen/ops/reflection_pad1d_meta.h>
#include <ATen/ops/reflection_pad3d_backward_meta.h>
#include <ATen/ops/reflection_pad3d_meta.h>
#include <ATen/ops/replication_pad1d_backward_meta.h>
#include <ATen/ops/replication_pad1d_meta.h>
#include <ATen/ops/replication_pad2d_meta.h>
#include <ATen/ops/replication_pad3d_meta.h>

namespace openreg {
namespace {

using kernels::PadArgs;

PadArgs describe(const at::Tensor& image, const at::Tensor& result, at::IntArrayRef padding) {
  const auto dims = static_cast<int64_t>(padding.size() / 2);
  PadArgs args{};
  fillExtent(args.imageSize, image.sizes().slice(image.sizes().size() - static_cast<size_t>(dims)), dims, 1);
  fillExtent(args.resultSize, result.sizes().slice(result.sizes().size() - static_cast<size_t>(dims)), dims, 1);
  for (int64_t i = 0; i < dims; ++i) { // from the last dimension on: before, after, before, …
    args.before[2 - i] = padding[static_cast<size_t>(2 * i)];
  }
  const auto plane = kernels::product(args.imageSize);
  args.planes = plane == 0 ? 0 : image.numel() / plane;
  return args;
}

void launchPad(const KernelFamily& family, const at::Tensor& image, at::IntArrayRef padding, const at::Tensor& result) {
  const ArrayOutput output(result);
  launchOverArrays(
      family, image, describe(image, result, padding),
      {reads("self", &PadArgs::image, image), writes("out", &PadArgs::result, output)});
  output.finish();
}

void launchPadBackward(
    const KernelFamily& family, const at::Tensor& gradImage, at::IntArrayRef padding, const at::Tensor& gradResult) {
  const ArrayOutput output(gradImage);
  launchOverArrays(
      family, gradImage, describe(gradImage, gradResult, padding),
      {writes("grad_input", &PadArgs::image, output), reads("grad_output", &PadArgs::result, gradResult)});
  output.finish();
}

// clang-tidy takes a reference that is a template's argument for an expression in parentheses.
template <class Meta, const KernelFamily& family>
struct Pad : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef padding, const at::Tensor& out) {
    launchPad(family, self, padding, out); // NOLINT(readability-redundant-parentheses)
  }
};

template <class Meta, const KernelFamily& family>
struct PadBackward : Meta {
  void
  impl(const at::Tensor& gradOutput, const at::Tensor& /*self*/, at::IntArrayRef padding, const at::Tensor& gradInput) {
    launchPadBackward(family, gradInput, padding, gradOutput); // NOLINT(readability-redundant-parentheses)
  }
};

// Some have no structured class: the checks are those of PyTorch's functions.
c10::SmallVector<int64_t, 5> paddedSize(const at::Tensor& self, at::IntArrayRef padding) {
  c10::SmallVector<int64_t, 5> size(self.sizes().begin(), self.sizes().end());
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    size[size.size() - 1 - i] += padding[2 * i] + padding[2 * i + 1];
  }
  return size;
}

at::Tensor& reflectOut(const at::Tensor& self, at::IntArrayRef padding, at::Tensor& out) {
  at::native::padding::check_valid_input<2>(self, padding);
  for (size_t i = 0; i < 2; ++i) {
    const auto size = self.size(-1 - static_cast<int64_t>(i));
    TORCH_CHECK(
        padding[2 * i] < size && padding[2 * i + 1] < size,
        "Padding size should be less than the corresponding input dimension, but got: padding (", padding[2 * i], ", ",
        padding[2 * i + 1], ") at dimension ", self.dim() - 1 - static_cast<int64_t>(i), " of input ", self.sizes());
  }
  const auto size = paddedSize(self, padding);
  TORCH_CHECK(
      size.back() >= 1 || size[size.size() - 2] >= 1, "input (H: ", self.size(-2), ", W: ", self.size(-1),
      ") is too small. Calculated output H: ", size[size.size() - 2], " W: ", size.back());
  resizeOutput(out, size, {}, self.options());
  launchPad(kernelFamily<"pad_reflect">, self, padding, out);
  return out;
}

at::Tensor reflect(const at::Tensor& self, at::IntArrayRef padding) {
  auto out = at::empty({0}, self.options());
  return reflectOut(self, padding, out);
}

template <const KernelFamily& family, int dims>
at::Tensor&
backwardOut(const at::Tensor& gradOutput, const at::Tensor& self, at::IntArrayRef padding, at::Tensor& gradInput) {
  at::native::padding::check_valid_input<dims>(self, padding);
  const auto size = paddedSize(self, padding);
  TORCH_CHECK(
      gradOutput.sizes() == size, "grad_output unexpected. Expected: ", at::IntArrayRef(size),
      ", Got: ", gradOutput.sizes());
  resizeOutput(gradInput, self.sizes(), {}, self.options());
  launchPadBackward(family, gradInput, padding, gradOutput); // NOLINT(readability-redundant-parentheses)
  return gradInput;
}

template <const KernelFamily& family, int dims>
at::Tensor backward(const at::Tensor& gradOutput, const at::Tensor& self, at::IntArrayRef padding) {
  auto gradInput = at::empty({0}, self.options());
  // NOLINTNEXTLINE(readability-redundant-parentheses)
  return backwardOut<family, dims>(gradOutput, self, padding, gradInput);
}

using Reflect1d =
    Structured<Pad<at::meta::structured_reflection_pad1d, kernelFamily<"pad_reflect">>, "reflection_pad1d.out">;
using Reflect3d =
    Structured<Pad<at::meta::structured_reflection_pad3d, kernelFamily<"pad_reflect">>, "reflection_pad3d.out">;
using Replicate1d =
    Structured<Pad<at::meta::structured_replication_pad1d, kernelFamily<"pad_replicate">>, "replication_pad1d.out">;
using Replicate2d =
    Structured<Pad<at::meta::structured_replication_pad2d, kernelFamily<"pad_replicate">>, "replication_pad2d.out">;
using Replicate3d =
    Structured<Pad<at::meta::structured_replication_pad3d, kernelFamily<"pad_replicate">>, "replication_pad3d.out">;
using Reflect1dBackward = Structured<
    PadBackward<at::meta::structured_reflection_pad1d_backward, kernelFamily<"pad_reflect_backward">>,
    "reflection_pad1d_backward.grad_input">;
using Reflect3dBackward = Structured<
    PadBackward<at::meta::structured_reflection_pad3d_backward, kernelFamily<"pad_reflect_backward">>,
    "reflection_pad3d_backward.grad_input">;
using Replicate1dBackward = Structured<
    PadBackward<at::meta::structured_replication_pad1d_backward, kernelFamily<"pad_replicate_backward">>,
    "replication_pad1d_backward.grad_input">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Reflect1d>(m, "reflection_pad1d");
  implForms<Reflect3d>(m, "reflection_pad3d");
  implForms<Replicate1d>(m, "replication_pad1d");
  implForms<Replicate2d>(m, "replication_pad2d");
  implForms<Replicate3d>(m, "replication_pad3d");
  implForms<Reflect1dBackward>(m, "reflection_pad1d_backward", {"", "grad_input"});
  implForms<Reflect3dBackward>(m, "reflection_pad3d_backward", {"", "grad_input"});
  implForms<Replicate1dBackward>(m, "replication_pad1d_backward", {"", "grad_input"});
  implPlain<"reflection_pad2d", reflect>(m);
  implPlain<"reflection_pad2d.out", reflectOut>(m);
  implPlain<"reflection_pad2d_backward", backward<kernelFamily<"pad_reflect_backward">, 2>>(m);
  implPlain<"reflection_pad2d_backward.grad_input", backwardOut<kernelFamily<"pad_reflect_backward">, 2>>(m);
  implPlain<"replication_pad2d_backward", backward<kernelFamily<"pad_replicate_backward">, 2>>(m);
  implPlain<"replication_pad2d_backward.grad_input", backwardOut<kernelFamily<"pad_replicate_backward">, 2>>(m);
  implPlain<"replication_pad3d_backward", backward<kernelFamily<"pad_replicate_backward">, 3>>(m);
  implPlain<"replication_pad3d_backward.grad_input", backwardOut<kernelFamily<"pad_replicate_backward">, 3>>(m);
}

} // namespace
} // namespace openreg
