// Elements that arrive where indices point, brought together by sorting.
#include "ops/indexing/index_places.h"

#include "ops/launch/kernel.h"
#include "ops/sorting/sort.h"

#include <kernels/indexing/index_places.h>
#include <kernels/launch/pointers.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <vector>

namespace openreg {
namespace {

using kernels::IndexArgs;
using kernels::IndexPlacesArgs;

/// Whether all elements along a dimension go the same way from where the indices say, each to a place of its own.
bool isApart(const IndexArgs& args, int dim) {
  const auto* end = args.index + args.indices;
  return args.indexedStrides[dim] != 0 &&
         std::all_of(args.index, end, [&](const auto& index) { return index.strides[dim] == 0; });
}

/// The same space with the dimensions in front that have a say in where elements go.
IndexPlacesArgs describe(const IndexArgs& args) {
  IndexPlacesArgs found; // not initialised as a whole: most of it is not used
  found.space = args;
  c10::SmallVector<int, kernels::kMaxDims> order;
  for (const bool apart : {false, true}) {
    for (int d = 0; d < args.dims; ++d) {
      if (isApart(args, d) == apart) {
        order.push_back(d);
      }
    }
    found.placed = apart ? found.placed : static_cast<int64_t>(order.size());
  }
  for (int d = 0; d < args.dims; ++d) {
    found.space.sizes[d] = args.sizes[order[d]];
    found.space.denseStrides[d] = args.denseStrides[order[d]];
    found.space.indexedStrides[d] = args.indexedStrides[order[d]];
    for (int k = 0; k < args.indices; ++k) {
      found.space.index[k].strides[d] = args.index[k].strides[order[d]];
    }
  }
  return found;
}

orPointerArg places(size_t offset, uint32_t access, const at::Tensor& numbers) {
  return kernels::contiguousPointer(offset, access, numbers.nbytes());
}

} // namespace

bool hasIndexPlaces(c10::Device device) {
  return kernel<"index_places">.find(device.index()) != nullptr &&
         kernel<"reduce_places">.find(device.index()) != nullptr && canSort(device.index());
}

void reducePlaces(c10::Device device, const IndexArgs& args, std::span<const orPointerArg> pointers) {
  auto launched = describe(args);
  const auto count = kernels::elementCount(static_cast<int>(launched.placed), launched.space.sizes);
  const auto found = at::empty({count}, at::TensorOptions(device).dtype(at::kLong));
  constexpr size_t kPlaces = offsetof(IndexPlacesArgs, places);
  constexpr size_t kOperands = 2; // dense and indexed
  std::vector<orPointerArg> described(pointers.begin(), pointers.end());
  for (auto& pointer : described) {
    pointer.offset += offsetof(IndexPlacesArgs, space);
  }
  std::vector<orPointerArg> read(described.begin() + kOperands, described.end());
  read.push_back(places(kPlaces, orAccessWrite, found));
  launched.places = found.mutable_data_ptr<int64_t>();
  launch(kernel<"index_places">, device.index(), launched, read, launched.size());

  const auto [sorted, elements] = at::sort(found, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  described.resize(kOperands);
  described.push_back(places(kPlaces, orAccessRead, sorted));
  described.push_back(places(offsetof(IndexPlacesArgs, elements), orAccessRead, elements));
  launched.places = sorted.mutable_data_ptr<int64_t>();
  launched.elements = elements.const_data_ptr<int64_t>();
  launch(kernel<"reduce_places">, device.index(), launched, described, launched.size());
}

} // namespace openreg
