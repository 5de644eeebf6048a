// A tensor's values one behind the other.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace openreg {

/// A tensor's values as they lie in memory, without gaps; where they don't lie so, those of a copy. Nothing blocks.
class Flat {
 public:
  explicit Flat(const at::Tensor& tensor) : tensor_(tensor) {
    const bool plain = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
    dense_ = plain ? tensor : at::empty(tensor.sizes(), tensor.options()).copy_(tensor);
  }

  at::Tensor values() const { return dense_.view({-1}); }

  /** @brief Brings what was written into values() to the tensor. */
  void putBack() const {
    if (!dense_.is_same(tensor_)) {
      tensor_.copy_(dense_);
    }
  }

 private:
  at::Tensor tensor_;
  at::Tensor dense_;
};

} // namespace openreg
