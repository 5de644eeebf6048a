// Images sampled at the positions of a grid.
#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/image/grid_sampler.h>

#include <ATen/core/Tensor.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

using kernels::GridSamplerArgs;

template <int64_t dims>
GridSamplerArgs
describe(const at::Tensor& image, const at::Tensor& grid, int64_t interpolation, int64_t padding, bool alignCorners) {
  at::native::check_grid_sampler_common(image, grid);
  if constexpr (dims == 2) {
    at::native::check_grid_sampler_2d(image, grid);
  } else {
    at::native::check_grid_sampler_3d(image, grid, interpolation);
  }
  TORCH_CHECK(
      image.dtype() == grid.dtype(), "grid_sampler(): expected input and grid to have same dtype, but input has ",
      image.dtype(), " and grid has ", grid.dtype());
  GridSamplerArgs args{};
  args.batch = image.size(0);
  args.channels = image.size(1);
  args.dims = dims;
  fillExtent(args.imageSize, image.sizes().slice(2), dims, 1);
  fillExtent(args.resultSize, grid.sizes().slice(1, dims), dims, 1);
  args.interpolation = interpolation;
  args.padding = padding;
  args.alignCorners = alignCorners ? 1 : 0;
  return args;
}

template <int64_t dims>
at::Tensor gridSampler(
    const at::Tensor& image, const at::Tensor& grid, int64_t interpolation, int64_t padding, bool alignCorners) {
  const auto args = describe<dims>(image, grid, interpolation, padding, alignCorners);
  c10::SmallVector<int64_t, 5> shape = {image.size(0), image.size(1)};
  shape.append(grid.sizes().begin() + 1, grid.sizes().end() - 1);
  auto result = at::empty(shape, image.options());
  const ArrayOutput output(result);
  launchOverArrays(
      kernelFamily<"grid_sampler">, image, args,
      {reads("input", &GridSamplerArgs::image, image), reads("grid", &GridSamplerArgs::grid, grid),
       writes("out", &GridSamplerArgs::result, output)});
  output.finish();
  return result;
}

template <int64_t dims>
std::tuple<at::Tensor, at::Tensor> gridSamplerBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& image,
    const at::Tensor& grid,
    int64_t interpolation,
    int64_t padding,
    bool alignCorners,
    std::array<bool, 2> outputMask) {
  const auto args = describe<dims>(image, grid, interpolation, padding, alignCorners);
  const auto gradImage = outputMask[0] ? at::empty_like(image, at::MemoryFormat::Contiguous) : at::Tensor();
  const auto gradGrid = at::empty_like(grid, at::MemoryFormat::Contiguous);
  const ArrayOutput toImage(gradImage), toGrid(gradGrid);
  launchOverArrays(
      kernelFamily<"grid_sampler_backward">, image, args,
      {reads("input", &GridSamplerArgs::image, image), reads("grid", &GridSamplerArgs::grid, grid),
       reads("grad_output", &GridSamplerArgs::result, gradOutput),
       writes("grad_input", &GridSamplerArgs::gradImage, toImage),
       writes("grad_grid", &GridSamplerArgs::gradGrid, toGrid)});
  toImage.finish();
  toGrid.finish();
  return {gradImage, gradGrid};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"grid_sampler_2d", gridSampler<2>>(m);
  implPlain<"grid_sampler_3d", gridSampler<3>>(m);
  implPlain<"grid_sampler_2d_backward", gridSamplerBackward<2>>(m);
  implPlain<"grid_sampler_3d_backward", gridSamplerBackward<3>>(m);
}

} // namespace
} // namespace openreg
