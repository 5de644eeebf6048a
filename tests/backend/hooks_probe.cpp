// What C++ asks guard and hooks and Python cannot: the tests' own library, behind C functions.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr int kRefused = -2;

const c10::impl::DeviceGuardImplInterface& guard() {
  return *c10::impl::getDeviceGuardImpl(kType);
}

const at::PrivateUse1HooksInterface& hooks() {
  return at::detail::getPrivateUse1Hooks();
}

c10::Device device(int index) {
  return {kType, static_cast<c10::DeviceIndex>(index)};
}

/// The answer, or kRefused where there is an exception instead.
template <class Function>
int answer(Function function) {
  try {
    return static_cast<int>(function());
  } catch (const c10::Error&) {
    return kRefused;
  }
}

} // namespace

extern "C" {

int guard_has_our_type() {
  return guard().type() == kType;
}
int guard_device_count() {
  return guard().deviceCount();
}
int guard_get_device() {
  return guard().getDevice().index();
}
int guard_set_device(int index) {
  return answer([&] { return guard().setDevice(device(index)), 0; });
}
int guard_exchange_device(int index) {
  return answer([&] { return guard().exchangeDevice(device(index)).index(); });
}
int guard_unchecked_set_device(int index) {
  return answer([&] { return guard().uncheckedSetDevice(device(index)), 0; });
}
int64_t guard_default_stream(int index) {
  return guard().getDefaultStream(device(index)).id();
}

/// What PyTorch has of an event that was never recorded is a null pointer: everything must take it.
int guard_takes_no_event(int index) {
  const c10::Stream stream(c10::Stream::DEFAULT, device(index));
  guard().synchronizeEvent(nullptr);
  guard().block(nullptr, stream);
  guard().destroyEvent(nullptr, stream.device_index());
  return guard().queryEvent(nullptr);
}

/// Memory of the current device is used by a stream, freed, and asked for again: whether it is given out at once.
int guard_reuses_recorded_memory(int index, int64_t stream, size_t bytes) {
  auto* const allocator = c10::GetAllocator(kType);
  auto data = allocator->allocate(bytes);
  const void* const where = data.get();
  guard().recordDataPtrOnStream(data, c10::Stream(c10::Stream::UNSAFE, device(index), stream));
  data.clear();
  return allocator->allocate(bytes).get() == where;
}

int hooks_is_built() {
  return answer([] { return hooks().isBuilt(); });
}
int hooks_is_available() {
  return answer([] { return hooks().isAvailable(); });
}
int hooks_has_primary_context(int index) {
  return answer([&] { return hooks().hasPrimaryContext(static_cast<c10::DeviceIndex>(index)); });
}
int hooks_init() {
  return answer([] { return hooks().init(), 0; });
}
int hooks_device_count() {
  return hooks().deviceCount();
}
int hooks_get_current_device() {
  return hooks().getCurrentDevice();
}
int hooks_set_current_device(int index) {
  return answer([&] { return hooks().setCurrentDevice(static_cast<c10::DeviceIndex>(index)), 0; });
}
int hooks_exchange_device(int index) {
  return answer([&] { return hooks().exchangeDevice(static_cast<c10::DeviceIndex>(index)); });
}
int hooks_maybe_exchange_device(int index) {
  return answer([&] { return hooks().maybeExchangeDevice(static_cast<c10::DeviceIndex>(index)); });
}
int hooks_device_from_pointer(void* data) {
  return answer([&] { return hooks().getDeviceFromPtr(data).index(); });
}
int hooks_default_generator_device(int index) {
  return answer([&] { return hooks().getDefaultGenerator(static_cast<c10::DeviceIndex>(index)).device().index(); });
}
}
