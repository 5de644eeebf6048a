// Launching the kernels that find elements by index tensors.
#include "ops/indexing/indexing.h"

#include "ops/indexing/index_places.h"
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"

#include <kernels/indexing/indexing.h>
#include <kernels/launch/pointers.h>

#include <ATen/WrapDimUtils.h>

namespace openreg {
namespace {

using kernels::IndexArgs;

const Kernel& kernelFor(Indexing indexing) {
  return indexing == Indexing::Read    ? kernel<"index">
         : indexing == Indexing::Write ? kernel<"index_put">
                                       : kernel<"index_reduce">;
}

/// Describes the tensor that the indices point to: as far as they may point.
orPointerArg indexedPointer(const IndexArgs& args, uint32_t access) {
  auto pointer = kernels::stridedPointer(
      offsetof(IndexArgs, indexed), access, args.dims, args.sizes, args.indexedStrides, args.elementSize);
  for (int k = 0; k < args.indices; ++k) {
    pointer.extent += static_cast<uint64_t>((args.index[k].size - 1) * args.index[k].stride);
  }
  return pointer;
}

void checkHasOrder(Indexing indexing, at::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !c10::isComplexType(type) || (indexing != Indexing::Maximum && indexing != Indexing::Minimum),
      "\"index_reduce\" not implemented for '", c10::toString(type), "': complex numbers have no order");
}

} // namespace

Indexing indexingOf(at::native::ReductionType reduce) {
  switch (reduce) {
    case at::native::ReductionType::MAX:
      return Indexing::Maximum;
    case at::native::ReductionType::MIN:
      return Indexing::Minimum;
    case at::native::ReductionType::PROD:
      return Indexing::Multiply;
    default: // Of the mean, the sum is the part that is done here.
      return Indexing::Add;
  }
}

void launchIndexing(
    Indexing indexing, const at::TensorIteratorBase& iter, const IndexOperands& operands, const IndexedDims& dims) {
  checkHasOrder(indexing, iter.dtype(operands.dense));
  if (iter.numel() == 0) {
    return;
  }
  for (const auto size : dims.sizes) {
    TORCH_CHECK_INDEX(size > 0, "index is out of bounds for dimension with size 0");
  }
  const auto& kernel = kernelFor(indexing);
  TORCH_CHECK(
      iter.ndim() <= kernels::kMaxDims && dims.sizes.size() <= kernels::kMaxIndices, kernel.name(), ": ", iter.ndim(),
      " dimensions and ", dims.sizes.size(), " index tensors are more than kernels take");
  const uint32_t access = indexing == Indexing::Read ? orAccessRead : orAccessRead | orAccessWrite;
  IndexArgs args; // not initialised as a whole: most of it is not used
  args.dense = iter.data_ptr(operands.dense);
  args.indexed = iter.data_ptr(operands.indexed);
  args.elementSize = iter.element_size(operands.dense);
  args.dtype = kernels::DType{};
  args.arrival = kernels::Arrival{};
  if (&kernel == &openreg::kernel<"index_reduce">) {
    args.dtype = kernelDType(iter.dtype(operands.dense), kernel.name());
    args.arrival = static_cast<kernels::Arrival>(static_cast<int>(indexing) - static_cast<int>(Indexing::Add));
  }
  args.dims = iter.ndim();
  args.indices = static_cast<int>(dims.sizes.size());
  args.wraps = dims.wraps ? 1 : 0;
  std::copy_n(iter.shape().data(), args.dims, args.sizes);
  std::copy_n(iter.strides(operands.dense).data(), args.dims, args.denseStrides);
  std::copy_n(iter.strides(operands.indexed).data(), args.dims, args.indexedStrides);
  std::array<orPointerArg, kernels::kMaxIndices + 2> pointers;
  for (int k = 0; k < args.indices; ++k) {
    auto& index = args.index[k];
    const auto& strides = iter.strides(operands.firstIndex + k);
    index.data = static_cast<const int64_t*>(iter.data_ptr(operands.firstIndex + k));
    index.size = dims.sizes[k];
    index.stride = dims.strides[k];
    index.dimension = dims.dimension + k;
    std::copy_n(strides.data(), args.dims, index.strides);
    pointers[k + 2] = kernels::stridedPointer(
        kernels::offsetIn(args, &index.data), orAccessRead, args.dims, args.sizes, index.strides, sizeof(int64_t));
  }
  pointers[0] = kernels::stridedPointer(
      offsetof(IndexArgs, dense), indexing == Indexing::Read ? orAccessRead | orAccessWrite : orAccessRead, args.dims,
      args.sizes, args.denseStrides, args.elementSize);
  pointers[1] = indexedPointer(args, access);
  const auto device = iter.device(0);
  const auto all = std::span(pointers).first(args.indices + 2);
  if (&kernel == &openreg::kernel<"index_reduce"> && kernel.find(device.index()) == nullptr && hasIndexPlaces(device)) {
    return reducePlaces(device, args, all);
  }
  launch(kernel, device.index(), args, all, args.size());
}

void launchAlong(
    Indexing indexing,
    const at::Tensor& dense,
    const at::Tensor& indexed,
    int64_t dim,
    const at::Tensor& index,
    bool wraps) {
  const auto rows = indexed.dim() == 0 ? indexed.unsqueeze(0) : indexed;
  const auto where = index.dim() == 0 ? index.unsqueeze(0) : index;
  dim = c10::maybe_wrap_dim(dim, rows.dim());
  TORCH_CHECK(rows.size(dim) > 0 || where.numel() == 0, "index is out of bounds for dimension ", dim, " with size 0");
  auto strides = rows.strides().vec();
  strides[dim] = 0;
  const auto walked = rows.as_strided(where.sizes(), strides);
  auto values = dense.dim() == 0 ? dense.unsqueeze(0) : dense;
  for (int64_t i = 0; i < where.dim() && values.dim() == where.dim(); ++i) {
    if (values.size(i) > where.size(i)) {
      values = values.narrow(i, 0, where.size(i)); // scatter takes the first elements only
    }
  }
  const bool reads = indexing == Indexing::Read;
  const auto iter = at::TensorIteratorConfig()
                        .set_check_mem_overlap(false)
                        .check_all_same_dtype(false)
                        .resize_outputs(false)
                        .add_output(reads ? values : walked)
                        .add_owned_const_input(reads ? walked : values)
                        .add_owned_const_input(where.to(at::kLong))
                        .build();
  const int64_t size = rows.size(dim);
  const int64_t stride = rows.stride(dim) * rows.element_size();
  launchIndexing(
      indexing, iter, {.dense = reads ? 0 : 1, .indexed = reads ? 1 : 0, .firstIndex = 2},
      {.sizes = size, .strides = stride, .wraps = wraps, .dimension = dim});
}

} // namespace openreg
