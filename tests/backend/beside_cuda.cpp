// A PyTorch that has CUDA and finds a GPU, where there is neither: what PyTorch's generic code asks CUDA for, answered
// over the host's memory. To be loaded before PyTorch is imported. For builds of PyTorch without CUDA.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/TensorShape.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>

namespace {

// Memory of the host. One object gives "pinned" memory and counts, the other one what belongs to the device "cuda".
struct Memory final : at::Allocator {
  explicit Memory(c10::Device device) : device(device) {}
  at::DataPtr allocate(size_t size) override {
    allocated += 1;
    auto* data = std::calloc(1, size + 1);
    return {data, data, &std::free, device};
  }
  at::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }

  c10::Device device;
  std::atomic<int> allocated = 0;
};

Memory& pinned() {
  static auto* memory = new Memory(c10::kCPU);
  return *memory;
}

Memory& global() {
  static auto* memory = new Memory({c10::kCUDA, 0});
  return *memory;
}

struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs /*unused*/) {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  void init() const override {}
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex /*device*/) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned(); }
};

[[maybe_unused]] const at::RegistererCUDAHooksRegistry
    registered("CUDAHooks", at::CUDAHooksRegistry(), at::RegistererCUDAHooksRegistry::DefaultCreator<CUDAHooks>);
C10_REGISTER_GUARD_IMPL(CUDA, c10::impl::FakeGuardImpl<c10::kCUDA>)

// ------------------------------------------------------------------------------------------------------- operators

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::CUDA);

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> /*layout*/,
    std::optional<at::Device> /*device*/,
    std::optional<bool> /*pin*/,
    std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &global(), kKeys, at::dtype_or_default(dtype), format);
}

at::Tensor emptyStrided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> /*layout*/,
    std::optional<at::Device> /*device*/,
    std::optional<bool> /*pin*/) {
  return at::detail::empty_strided_generic(size, stride, &global(), kKeys, at::dtype_or_default(dtype));
}

at::Tensor onHost(const at::Tensor& it) {
  return at::from_blob(it.mutable_data_ptr(), it.sizes(), it.strides(), it.options().device(at::kCPU));
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool /*non_blocking*/) {
  onHost(self).copy_(onHost(source));
  return self;
}

at::Tensor copyFromAndResize(const at::Tensor& self, const at::Tensor& to) {
  return onHost(to).copy_(onHost(self));
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &emptyStrided);
  m.impl("copy_", &copy);
  m.impl("_copy_from_and_resize", &copyFromAndResize); // what the fallback has computed, back into an argument
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

} // namespace

/// How many times somebody has been given CUDA's pinned memory.
extern "C" int cuda_pinned_count() {
  return pinned().allocated.load();
}
