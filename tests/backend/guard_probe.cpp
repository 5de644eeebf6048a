// Calls of the guard that C++ makes and Python cannot: the tests' own library, behind C functions.
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <stdexcept>

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

const c10::impl::DeviceGuardImplInterface& guard() {
  return *c10::impl::getDeviceGuardImpl(kType);
}

c10::Device device(int index) {
  return {kType, static_cast<c10::DeviceIndex>(index)};
}

} // namespace

extern "C" {

/// A stream of the global pool: its number; its device through `index`, which may be -1.
int64_t from_pool(int* index, bool high_priority) {
  const auto stream = guard().getStreamFromGlobalPool(device(*index), high_priority);
  *index = stream.device_index();
  return stream.id();
}

/// Under a StreamGuard of a stream: the current device and the current stream's number; then an exception ends it.
void inside_guard(int index, int64_t id, int* current_device, int64_t* current_stream) {
  try {
    const c10::StreamGuard scope(c10::Stream(c10::Stream::UNSAFE, device(index), id));
    *current_device = guard().getDevice().index();
    *current_stream = guard().getStream(guard().getDevice()).id();
    throw std::runtime_error("an exception in flight");
  } catch (const std::runtime_error&) {
  }
}

/// exchangeStream alone: the number that was current before. The interface leaves the current device alone.
int64_t exchange(int index, int64_t id) {
  return guard().exchangeStream(c10::Stream(c10::Stream::UNSAFE, device(index), id)).id();
}
}
