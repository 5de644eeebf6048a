// Pinned host memory, as copies and PyTorch's hooks need to know about it.
#include "pinned/pinned.h"

#include "device/device.h"
#include "device/error.h"
#include "device/hooks.h"
// LITERALINCLUDE START: PINNED IN A CAPTURE
#include "graph/capture.h"
#include "stream/handle.h"
// LITERALINCLUDE END: PINNED IN A CAPTURE

#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>

namespace openreg {

// LITERALINCLUDE START: HAS PINNED MEMORY
bool hasPinnedMemory() {
  static const bool has = [] {
    const auto error = orFreeHost(nullptr); // does nothing, and wakes no device, but on a driver that cannot do it
    if (error != orSuccess) {
      (void)orGetLastError(); // an answer, not a failure
    }
    return error != orErrorNotImplemented;
  }();
  return has;
}
// LITERALINCLUDE END: HAS PINNED MEMORY

// LITERALINCLUDE START: IS PINNED
bool isPinned(const void* data) noexcept {
  orPointerAttributes attributes{};
  return orPointerGetAttributes(&attributes, data) == orSuccess && attributes.type == orMemoryTypeHost;
}
// LITERALINCLUDE END: IS PINNED

// LITERALINCLUDE START: EMPTY PINNED
at::Tensor emptyPinned(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
  return at::detail::empty_strided_generic(sizes, strides, at::getHostAllocator(kDeviceType), cpu, dtype);
}
// LITERALINCLUDE END: EMPTY PINNED

// LITERALINCLUDE START: RECORD USE
void recordUse(const c10::DataPtr& memory, const c10::Stream& stream) {
  orPointerAttributes attributes{};
  check(orPointerGetAttributes(&attributes, memory.get()));
  // LITERALINCLUDE START: PINNED IN A CAPTURE
  if (anyCapture()) {
    if (const auto captured = captureOf(streamHandle(stream)); captured != nullptr) {
      captured->pinned.add(attributes.base);
      return;
    }
  }
  // LITERALINCLUDE END: PINNED IN A CAPTURE
  // The allocator finds its block by the context, or else by the first address: a NumPy array over a pinned tensor has
  // another context, and may begin in the middle. Memory pinned without the allocator is not its concern: orFreeHost
  // waits for copies.
  (void)at::getHostAllocator(kDeviceType)->record_event(attributes.base, memory.get_context(), stream);
}
// LITERALINCLUDE END: RECORD USE

// LITERALINCLUDE START: HOOKS PINNED FUNCTIONS
at::Allocator* Hooks::getPinnedMemoryAllocator() const {
  return at::getHostAllocator(kDeviceType);
}

bool Hooks::isPinnedPtr(const void* data) const {
  return isPinned(data);
}
// LITERALINCLUDE END: HOOKS PINNED FUNCTIONS

} // namespace openreg
