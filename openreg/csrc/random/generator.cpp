// The generator of random numbers, and the default one of each device.
#include "random/generator.h"

// LITERALINCLUDE START: DRAW IN A CAPTURE
#include "graph/capture.h"
#include "stream/handle.h"
// LITERALINCLUDE END: DRAW IN A CAPTURE

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorImpl.h>

#include <array>
#include <cstring>
#include <mutex>

namespace openreg {
namespace {

// LITERALINCLUDE START: STATE
// The layout of CUDA's states, so that they mean the same to those who keep them.
constexpr size_t kSeedBytes = sizeof(uint64_t);
constexpr size_t kStateBytes = kSeedBytes + sizeof(uint64_t);
// LITERALINCLUDE END: STATE

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

} // namespace

// LITERALINCLUDE START: DRAW IN A CAPTURE
namespace {

/// What a kernel in a graph is to draw is decided when the graph is replayed.
void checkSeedNow(const Generator& generator, const char* function) {
  checkNotCapturing(
      generator.device().index(), function,
      "it would not change what the graph draws. Call it before a replay: a graph draws what the generator has next "
      "when it is replayed");
}

} // namespace

// LITERALINCLUDE END: DRAW IN A CAPTURE
Generator::Generator(c10::DeviceIndex device) : GeneratorImpl({kDeviceType, device}, kKeys) {}

// LITERALINCLUDE START: RESERVE
kernels::PhiloxRange Generator::reserve(uint64_t blocks) {
  // LITERALINCLUDE START: DRAW IN A CAPTURE
  if (anyCapture()) {
    if (const auto captured = captureOf(currentStreamHandle(device_.index())); captured != nullptr) {
      return captured->numbers.reserve(*this, blocks);
    }
  }
  // LITERALINCLUDE END: DRAW IN A CAPTURE
  const std::lock_guard lock(mutex_);
  const kernels::PhiloxRange range{seed_, offset_};
  offset_ += blocks;
  return range;
}
// LITERALINCLUDE END: RESERVE

void Generator::set_current_seed(uint64_t seed) {
  // LITERALINCLUDE START: DRAW IN A CAPTURE
  checkSeedNow(*this, "manual_seed");
  // LITERALINCLUDE END: DRAW IN A CAPTURE
  seed_ = seed;
  offset_ = 0;
}

uint64_t Generator::seed() {
  seed_ = c10::detail::getNonDeterministicRandom();
  offset_ = 0;
  return seed_;
}

// LITERALINCLUDE START: STATE FUNCTIONS
void Generator::set_state(const c10::TensorImpl& state) {
  // LITERALINCLUDE START: DRAW IN A CAPTURE
  checkSeedNow(*this, "set_rng_state");
  // LITERALINCLUDE END: DRAW IN A CAPTURE
  at::detail::check_rng_state(state);
  const auto size = static_cast<size_t>(state.numel());
  TORCH_CHECK(
      size == kStateBytes || size == kSeedBytes, "RNG state is wrong size: argument 'new_state' has ", size,
      " bytes; expected ", kStateBytes, " (seed and offset) or ", kSeedBytes, " (seed)");
  const auto* bytes = static_cast<const uint8_t*>(state.data());
  std::memcpy(&seed_, bytes, kSeedBytes);
  offset_ = 0;
  if (size == kStateBytes) {
    std::memcpy(&offset_, bytes + kSeedBytes, sizeof(offset_));
  }
}

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const {
  const auto state = at::detail::empty_cpu({static_cast<int64_t>(kStateBytes)}, at::kByte);
  auto* bytes = static_cast<uint8_t*>(state.mutable_data_ptr());
  std::memcpy(bytes, &seed_, kSeedBytes);
  std::memcpy(bytes + kSeedBytes, &offset_, sizeof(offset_));
  return state.getIntrusivePtr();
}
// LITERALINCLUDE END: STATE FUNCTIONS

Generator* Generator::clone_impl() const {
  auto* copy = new Generator(device_.index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy;
}

// LITERALINCLUDE START: DEFAULT GENERATORS
const at::Generator& defaultGenerator(c10::DeviceIndex device) {
  struct Default {
    std::once_flag made;
    at::Generator generator;
  };
  // Never destroyed: Python objects, and tensors' backward functions, may hold generators to the very end.
  static auto& defaults = *new std::array<Default, kMaxDevices>;
  const auto index = resolveIndex({kDeviceType, device});
  auto& slot = defaults[index];
  std::call_once(slot.made, [&] {
    slot.generator = at::make_generator<Generator>(index);
    slot.generator.seed();
  });
  return slot.generator;
}
// LITERALINCLUDE END: DEFAULT GENERATORS

// LITERALINCLUDE START: GENERATOR FOR
Generator& generatorFor(const std::optional<at::Generator>& given, c10::DeviceIndex device) {
  if (!given.has_value() || !given->defined()) {
    return *defaultGenerator(device).get<Generator>();
  }
  const auto found = given->device();
  TORCH_CHECK(
      found.type() == kDeviceType, "Expected a '", kDeviceType, "' device type for generator but found '", found.type(),
      "'"); // PyTorch's words
  TORCH_CHECK(
      found.index() == device, "Expected a generator of device ", c10::Device(kDeviceType, device),
      " but found one of ", found);
  return *given->get<Generator>();
}
// LITERALINCLUDE END: GENERATOR FOR

} // namespace openreg
