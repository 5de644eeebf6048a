// The plainest allocator: one orMalloc a tensor, one orFree when it goes. Right, and slow: orFree waits for the device.
#include "memory/allocator.h"

#include "device/device.h"
#include "device/error.h"
#include "stream/handle.h"

namespace openreg {
namespace {

// LITERALINCLUDE START: DIRECT ALLOCATOR
class DirectAllocator final : public c10::Allocator {
 public:
  /// Memory of the current device: PyTorch's factories have made the tensor's device current before they ask.
  c10::DataPtr allocate(size_t size) override {
    const auto device = currentDevice();
    void* data = nullptr;
    check(orMalloc(&data, size));
    return {data, data, &release, c10::Device(kDeviceType, device)};
  }

  /// Lets raw_allocate work, which needs to know that a pointer is its own context.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  /// Both pointers are device memory, so the device does the copy, in the order of the current stream.
  void copy_data(void* dst, const void* src, std::size_t size) const override {
    check(orMemcpyAsync(dst, src, size, orMemcpyDeviceToDevice, currentStreamHandle(currentDevice())));
  }

 private:
  /// Runs where a tensor dies: in any thread, under any current device, while an exception is in flight, after a device
  /// has failed. It must not throw, and orFree succeeds in all these cases; it finds the device by the pointer.
  static void release(void* data) noexcept { (void)orFree(data); }
};
// LITERALINCLUDE END: DIRECT ALLOCATOR

// LITERALINCLUDE START: REGISTER ALLOCATOR
// Never destroyed: tensors that live as long as the process free their memory after static objects are gone.
DirectAllocator& instance() {
  static auto* object = new DirectAllocator;
  return *object;
}

REGISTER_ALLOCATOR(kDeviceType, &instance());
// LITERALINCLUDE END: REGISTER ALLOCATOR

} // namespace

c10::Allocator* allocator() {
  return &instance();
}

void recordStream(const c10::DataPtr&, c10::Stream) {} // orFree waits for all streams

} // namespace openreg
