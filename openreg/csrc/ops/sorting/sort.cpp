// sort and topk.
#include "ops/sorting/sort.h"

#include "ops/launch/dtype.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/forms.h"
#include "ops/structured/structured_output.h"

#include <kernels/launch/pointers.h>
#include <kernels/sorting/sorted_runs.h>

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Sorting.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sort_native.h>
#include <ATen/ops/topk_meta.h>
#include <torch/library.h>

#include <utility>

namespace openreg {
namespace {

using kernels::SortedRunsArgs;

/// Elements of rows, and where in its row each was at first.
struct Places {
  at::Tensor values;
  at::Tensor indices;

  static Places like(const at::Tensor& rows) {
    return {at::empty_like(rows), at::empty_like(rows, rows.options().dtype(at::kLong))};
  }
};

void launchRuns(const Kernel& kernel, SortedRunsArgs args, const Places& from, const Places& to) {
  args.values = to.values.mutable_data_ptr();
  args.indices = to.indices.mutable_data_ptr<int64_t>();
  args.in = from.values.const_data_ptr();
  args.inIndex = from.indices.defined() ? from.indices.const_data_ptr<int64_t>() : nullptr;
  const auto bytes = to.values.nbytes(), indexBytes = to.indices.nbytes();
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(SortedRunsArgs, values), orAccessWrite, bytes),
      kernels::contiguousPointer(offsetof(SortedRunsArgs, indices), orAccessWrite, indexBytes),
      kernels::contiguousPointer(offsetof(SortedRunsArgs, in), orAccessRead, bytes),
      kernels::contiguousPointer(offsetof(SortedRunsArgs, inIndex), orAccessRead, indexBytes),
  };
  launch(
      kernel, to.values.device().index(), args,
      std::span(pointers).first(from.indices.defined() ? pointers.size() : pointers.size() - 1));
}

// LITERALINCLUDE START: SORT BY MERGING
/// Whether a device lacks one of the kernels "sort" and "topk", but has those that make them.
bool isMerged(const Kernel& kernel, c10::DeviceIndex device) {
  const bool takesFirst = &kernel == &openreg::kernel<"sort"> || &kernel == &openreg::kernel<"topk">;
  return takesFirst && kernel.find(device) == nullptr && openreg::kernel<"sort_runs">.find(device) != nullptr &&
         openreg::kernel<"merge_runs">.find(device) != nullptr;
}

/// Sorts runs of some elements, then merges two at a time, until a row is one.
void sortByMerging(const kernels::SortArgs& sort, const at::Tensor& in, const Places& out) {
  SortedRunsArgs args{};
  args.rows = sort.rows;
  args.size = sort.size;
  args.dtype = sort.dtype;
  args.descending = sort.descending;
  const bool isWhole = sort.kept == sort.size;
  // What a launch leaves runs of is the result if a run is a row, and else what the next one reads.
  const auto placesOf = [&](int64_t run) { return isWhole && run >= sort.size ? out : Places::like(in); };
  auto sorted = placesOf(kernels::kSortedRun);
  launchRuns(kernel<"sort_runs">, args, {in, {}}, sorted);
  for (args.run = kernels::kSortedRun; args.run < args.size; args.run *= 2) {
    const auto runs = std::exchange(sorted, placesOf(2 * args.run));
    launchRuns(kernel<"merge_runs">, args, runs, sorted);
  }
  if (isWhole) {
    return;
  }
  const auto first = [&](const at::Tensor& all, const at::Tensor& like) {
    return all.view({sort.rows, sort.size}).narrow(1, 0, sort.kept).view_as(like);
  };
  out.values.copy_(first(sorted.values, out.values));
  out.indices.copy_(first(sorted.indices, out.indices));
}
// LITERALINCLUDE END: SORT BY MERGING

} // namespace

bool canSort(c10::DeviceIndex device) {
  return kernel<"sort">.find(device) != nullptr || isMerged(kernel<"sort">, device);
}

void launchSort(
    const Kernel& kernel,
    kernels::SortArgs args,
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& values,
    const at::Tensor& indices) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !self.is_complex(), '"', kernel.name(), "\" not implemented for '", c10::toString(self.scalar_type()),
      "': complex numbers have no order");
  args.dtype = kernelDType(self.scalar_type(), kernel.name());
  if (values.numel() == 0) {
    return;
  }
  // Rows one after the other: of the inputs as of the outputs, which may have to be copied then.
  const auto asRows = [dim](const at::Tensor& tensor) { return tensor.dim() == 0 ? tensor : tensor.movedim(dim, -1); };
  const auto valueRows = asRows(values);
  const auto indexRows = asRows(indices);
  // The kernel reads elements when it has written others.
  const auto in = apartFrom(indexRows, apartFrom(valueRows, asRows(self).contiguous()));
  const ContiguousOutput valuesOut(valueRows), indicesOut(indexRows);
  const auto& written = valuesOut.tensor();
  const auto& places = indicesOut.tensor();
  args.values = written.mutable_data_ptr();
  args.indices = places.mutable_data_ptr<int64_t>();
  args.in = in.const_data_ptr();
  args.size = self.dim() == 0 ? 1 : self.size(dim);
  args.kept = self.dim() == 0 ? 1 : values.size(dim);
  args.rows = self.numel() / args.size;
  if (isMerged(kernel, self.device().index())) {
    sortByMerging(args, in, {written, places});
    valuesOut.finish();
    return indicesOut.finish();
  }
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::SortArgs, values), orAccessWrite, written.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::SortArgs, indices), orAccessWrite, places.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::SortArgs, in), orAccessRead, in.nbytes()),
  };
  launch(kernel, self.device().index(), args, pointers);
  valuesOut.finish();
  indicesOut.finish();
}

namespace {

void sortKernel(
    const at::TensorBase& self,
    const at::TensorBase& values,
    const at::TensorBase& indices,
    int64_t dim,
    bool descending,
    bool /*stable*/) {
  kernels::SortArgs args{};
  args.descending = descending ? 1 : 0;
  launchSort(kernel<"sort">, args, at::Tensor(self), dim, at::Tensor(values), at::Tensor(indices));
}

struct TopkImpl : at::meta::structured_topk {
  void impl(
      const at::Tensor& self,
      int64_t /*k*/,
      int64_t dim,
      bool largest,
      bool sorted,
      const at::Tensor& values,
      const at::Tensor& indices) {
    kernels::SortArgs args{};
    args.descending = largest ? 1 : 0;
    args.sorted = sorted ? 1 : 0;
    launchSort(kernel<"topk">, args, self, c10::maybe_wrap_dim(dim, self.dim()), values, indices);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using Sort = Structured<at::native::structured_sort_stable_out, "sort.values_stable", 2>;
  implNative(m, "sort.stable", Sort::functional);
  implNative(m, "sort.values_stable", Sort::out);
  using Topk = Structured<TopkImpl, "topk.values", 2>;
  implNative(m, "topk", Topk::functional);
  implNative(m, "topk.values", Topk::out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(sort_stub, &openreg::sortKernel)
} // namespace at::native
