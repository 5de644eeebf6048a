// What is drawn on a device that sorts, but has no kernel of its own for it.
#include "random/draw_by_sorting.h"

#include <ATen/ops/_assert_async.h>
#include <ATen/ops/all.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>

#include <limits>
#include <tuple>

namespace openreg {

bool drawsBySorting(const Kernel& kernel, c10::DeviceIndex device) {
  // canSort() says more exactly which kernels sort, but comes in a later chapter. Without one of them at::sort() falls
  // back.
  const auto has = [device](const Kernel& each) { return each.find(device) != nullptr; };
  return !has(kernel) && (has(openreg::kernel<"sort">) || has(openreg::kernel<"merge_runs">));
}

at::Tensor permutationBySorting(int64_t n, c10::Device device, const std::optional<at::Generator>& generator) {
  // Hardly ever are two of them equal: there are 2⁶³.
  const auto numbers = at::empty({n}, at::TensorOptions(device).dtype(at::kLong)).random_(generator);
  return std::get<1>(at::sort(numbers));
}

at::Tensor multinomialBySorting(
    const at::Tensor& self, int64_t samples, bool replacement, const std::optional<at::Generator>& generator) {
  const auto weights = self.to(at::kDouble);
  const auto isWeight = at::logical_and(at::ge(weights, 0), at::lt(weights, std::numeric_limits<double>::infinity()));
  at::_assert_async(at::all(isWeight), "probability tensor contains either `inf`, `nan` or element < 0");
  const auto hasSum = at::ge(at::sum(weights, -1), std::numeric_limits<double>::min());
  at::_assert_async(at::all(hasSum), "invalid multinomial distribution (sum of probabilities <= 0)");
  if (!replacement) {
    // A race: a category arrives after an exponential time with its weight as the rate, and the first are taken.
    const auto times = at::div(at::empty_like(weights).exponential_(1, generator), weights);
    return std::get<1>(at::topk(times, samples, -1, /*largest=*/false, /*sorted=*/true));
  }
  // The sums of the weights up to each category are stairs; a uniform height lands on a stair. It is less than the top:
  // the largest number that is drawn is 1 − 2⁻⁵³, and times that no normal number remains what it is.
  const auto stairs = at::cumsum(weights, -1);
  auto sizes = weights.sizes().vec();
  sizes.back() = samples;
  const auto heights = at::rand(sizes, generator, weights.options()).mul_(stairs.narrow(-1, weights.size(-1) - 1, 1));
  return at::searchsorted(stairs, heights, /*out_int32=*/false, /*right=*/true);
}

} // namespace openreg
