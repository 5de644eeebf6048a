// What the files of the collectives share.
#pragma once

#include "distributed/process_group.h"

#include <c10/util/Exception.h>

#include <utility>
#include <vector>

namespace openreg {

/** @brief The only tensor of a list. @throws c10::ValueError if there are more, as of a backend with several devices.
 */
inline const at::Tensor& single(const std::vector<at::Tensor>& tensors, c10d::OpType type) {
  TORCH_CHECK_VALUE(
      tensors.size() == 1, "occl: ", nameOf(type), ": got ", tensors.size(), " tensors; expected one for each process");
  return tensors[0];
}

/** @brief Makes sure that there is a tensor for each rank. @throws c10::ValueError if not. */
inline void checkCount(const std::vector<std::vector<at::Tensor>>& lists, int size, c10d::OpType type) {
  TORCH_CHECK_VALUE(
      lists.size() == 1 && static_cast<int>(lists[0].size()) == size, "occl: ", nameOf(type), ": got a list of ",
      lists.empty() ? 0 : lists[0].size(), " tensors; expected ", size, ", one for each rank");
}

/** @brief Makes sure that there is a tensor for each rank, and each is like `one`. @throws c10::ValueError if not. */
inline void
checkLists(const std::vector<std::vector<at::Tensor>>& lists, const at::Tensor& one, int size, c10d::OpType type) {
  checkCount(lists, size, type);
  for (const auto& tensor : lists[0]) {
    TORCH_CHECK_VALUE(
        tensor.scalar_type() == one.scalar_type() && tensor.numel() == one.numel(), "occl: ", nameOf(type),
        ": a tensor of the list has ", tensor.numel(), " elements of type ", tensor.scalar_type(), "; expected ",
        one.numel(), " of type ", one.scalar_type());
  }
}

/** @brief Bytes of a tensor's values, as the ranks announce them. */
inline int64_t byteCount(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes());
}

/// c10d's interface takes references to lists that the transport may change: each exchange has a list of its own.
template <class F>
Exchange::Start with(std::vector<at::Tensor> tensors, const F& call) {
  return [tensors = std::move(tensors), call](c10d::Backend& transport) mutable { return call(transport, tensors); };
}

/// Likewise with two lists.
template <class F>
Exchange::Start withTwo(std::vector<at::Tensor> a, std::vector<at::Tensor> b, const F& call) {
  return [a = std::move(a), b = std::move(b), call](c10d::Backend& transport) mutable { return call(transport, a, b); };
}

} // namespace openreg
