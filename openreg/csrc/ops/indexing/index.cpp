// x[indices] and x[indices] = values.
#include "ops/indexing/indexing.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/ops/_index_put_impl_native.h>
#include <ATen/ops/_unsafe_index_native.h>
#include <ATen/ops/index_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct Index : at::native::structured_index_out {
  void
  impl(const at::Tensor& self, at::IOptTensorListRef /*indices*/, const meta_return_ty& found, const at::Tensor& out) {
    at::native::structured_index_out::impl(self, found.sizes, found.strides, out);
  }
};

void indexKernel(at::TensorIteratorBase& iter, at::IntArrayRef sizes, at::IntArrayRef strides) {
  launchIndexing(
      Indexing::Read, iter, {.dense = 0, .indexed = 1, .firstIndex = 2},
      {.sizes = sizes, .strides = strides, .wraps = true});
}

void indexPutKernel(at::TensorIterator& iter, at::IntArrayRef sizes, at::IntArrayRef strides, bool accumulate) {
  launchIndexing(
      accumulate ? Indexing::Add : Indexing::Write, iter, {.dense = 1, .indexed = 0, .firstIndex = 2},
      {.sizes = sizes, .strides = strides, .wraps = true});
}

/// What x[indices] would read: its meta function finds the places, and the output is nobody's.
class IndexedPlaces final : public at::meta::structured_index_Tensor {
 public:
  IndexedPlaces(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices)
      : found_(meta(self, indices)) {}

  void set_output_raw_strided(
      int64_t i, at::IntArrayRef sizes, at::IntArrayRef /*strides*/, at::TensorOptions options) override {
    output_ = makeOutput({1}, {}, options).expand(sizes);
    at::meta::structured_index_Tensor::set_output_raw_strided(i, sizes, output_.strides(), options);
  }
  const at::Tensor& maybe_get_output(int64_t) override { return output_; }

  IndexedDims dims() const { return {.sizes = found_.sizes, .strides = found_.strides, .wraps = true}; }

 private:
  at::Tensor output_;
  meta_return_ty found_;
};

/// Accelerators get this stub in place of index_put_stub where sums have to be formed in an order.
void indexPutInOrder(
    at::Tensor& self,
    const c10::List<std::optional<at::Tensor>>& indices,
    const at::Tensor& value,
    bool accumulate,
    bool /*unsafe*/) {
  TORCH_CHECK(
      value.device() == self.device(), "expected device ", self.device(), " but got device ", value.device(),
      " for value tensor");
  IndexedPlaces found(self, indices);
  const at::Tensor& places = found.tensor(1);
  TORCH_CHECK(
      at::is_expandable_to(value.sizes(), places.sizes()), "shape mismatch: value tensor of shape ", value.sizes(),
      " cannot be broadcast to indexing result of shape ", places.sizes());
  TORCH_CHECK(
      value.scalar_type() == self.scalar_type(), "Index put requires the source and destination dtypes match, got ",
      self.scalar_type(), " for the destination and ", value.scalar_type(), " for the source.");
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).resize_outputs(false);
  config.add_output(places).add_const_input(value);
  for (int i = 2; i < found.ntensors(); ++i) {
    config.add_const_input(found.tensor(i));
  }
  launchIndexing(
      accumulate ? Indexing::Add : Indexing::Write, config.build(), {.dense = 1, .indexed = 0, .firstIndex = 2},
      found.dims());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<Index>>(m, "index", {"Tensor", "Tensor_out"});
  implPlain<"_unsafe_index.Tensor", at::native::_unsafe_index>(m);
  implNative(m, "_index_put_impl_", at::native::_index_put_impl_);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(index_stub, &openreg::indexKernel)
REGISTER_PRIVATEUSE1_DISPATCH(index_put_stub, &openreg::indexPutKernel)
REGISTER_PRIVATEUSE1_DISPATCH(index_put_with_sort_stub, &openreg::indexPutInOrder)
} // namespace at::native
