// One operation of a process group: what it moves between device and host.
#include "distributed/operation.h"

#include "pinned/pinned.h"

#include <c10/util/strides.h>

namespace openreg {

at::Tensor pinned(at::IntArrayRef sizes, at::ScalarType dtype) {
  return emptyPinned(sizes, c10::contiguous_strides(sizes), dtype);
}

// LITERALINCLUDE START: STAGE
at::Tensor Operation::in(const at::Tensor& tensor) {
  return toHost.emplace_back(tensor, pinned(tensor.sizes(), tensor.scalar_type())).second;
}

at::Tensor Operation::out(const at::Tensor& tensor) {
  outputs.push_back(tensor);
  return toDevice.emplace_back(tensor, pinned(tensor.sizes(), tensor.scalar_type())).second;
}
// LITERALINCLUDE END: STAGE

at::Tensor bytesOf(const at::Tensor& host) {
  return host.view({-1}).view(at::kByte);
}

} // namespace openreg
