// Registers the backends of the page on the registration contract, and calls what they inherit.
#include "registration_backends.h"

#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

namespace {

at::Tensor empty(
    c10::SymIntArrayRef size,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(
      C10_AS_INTARRAYREF_SLOW(size), c10::GetAllocator(kType), c10::DispatchKeySet(kKey), type.value_or(at::kFloat),
      format);
}

at::Tensor emptyStrided(
    c10::SymIntArrayRef size,
    c10::SymIntArrayRef stride,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>) {
  return at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), c10::GetAllocator(kType),
      c10::DispatchKeySet(kKey), type.value_or(at::kFloat));
}

/// All memory is the host's, so the CPU reads and writes it as its own.
at::Tensor asHosts(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), at::TensorOptions(at::kCPU).dtype(tensor.dtype()));
}

/// Printing a tensor makes doubles of it: a copy may convert.
at::Tensor copyFrom(const at::Tensor& from, const at::Tensor& to, bool) {
  asHosts(to).copy_(asHosts(from));
  return to;
}

at::Tensor copyFromAndResize(const at::Tensor& from, const at::Tensor& to) {
  const auto made = at::detail::empty_generic(
      from.sizes(), c10::GetAllocator(kType), c10::DispatchKeySet(kKey), from.scalar_type(), std::nullopt);
  to.unsafeGetTensorImpl()->set_storage_keep_dtype(made.storage());
  to.unsafeGetTensorImpl()->set_sizes_contiguous(from.sizes());
  return copyFrom(from.contiguous(), to, false);
}

void fallback(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

template <class Function>
std::string said(Function function) {
  try {
    return function();
  } catch (const c10::Error& error) {
    return std::string("error: ") + error.what_without_backtrace();
  }
}

std::string answer(bool value) {
  return value ? "returns true" : "returns false";
}

using Calls = std::map<std::string, std::function<std::string()>>;

/// Each function that PyTorch defines and a backend may leave out, called on a class that leaves it out.
const Calls& calls() {
  static const BareGuard guard;
  static const BareHooks hooks;
  static const c10::Device device(kType, 0);
  static const c10::Stream main(c10::Stream::DEFAULT, device);
  static const auto nothing = [](auto&&...) { return std::string("does nothing"); };
  static const auto given = [](auto&&...) { return std::string("returns"); };
  static const Calls all{
      {"guard getDefaultStream", [] { return given(guard.getDefaultStream(device)); }},
      {"guard getStreamFromGlobalPool", [] { return given(guard.getStreamFromGlobalPool(device, false)); }},
      {"guard getNewStream", [] { return given(guard.getNewStream(device)); }},
      {"guard getStreamNativeHandle", [] { return given(guard.getStreamNativeHandle(main)); }},
      {"guard destroyEvent", [] { return guard.destroyEvent(nullptr, 0), nothing(); }},
      {"guard record", [] { return guard.record(nullptr, main, 0, c10::EventFlag::PYTORCH_DEFAULT), nothing(); }},
      {"guard block", [] { return guard.block(nullptr, main), nothing(); }},
      {"guard queryEvent", [] { return answer(guard.queryEvent(nullptr)); }},
      {"guard getDeviceCapability", [] { return given(guard.getDeviceCapability(device)); }},
      {"guard queryStream", [] { return answer(guard.queryStream(main)); }},
      {"guard synchronizeStream", [] { return guard.synchronizeStream(main), nothing(); }},
      {"guard isStreamCapturing", [] { return answer(guard.isStreamCapturing(main)); }},
      {"guard synchronizeEvent", [] { return guard.synchronizeEvent(nullptr), nothing(); }},
      {"guard synchronizeDevice", [] { return guard.synchronizeDevice(0), nothing(); }},
      {"guard recordDataPtrOnStream", [] { return guard.recordDataPtrOnStream({}, main), nothing(); }},
      {"guard elapsedTime", [] { return given(guard.elapsedTime(nullptr, nullptr, 0)); }},
      {"hooks isBuilt", [] { return answer(hooks.isBuilt()); }},
      {"hooks isAvailable", [] { return answer(hooks.isAvailable()); }},
      {"hooks hasPrimaryContext", [] { return answer(hooks.hasPrimaryContext(0)); }},
      {"hooks init", [] { return hooks.init(), nothing(); }},
      {"hooks deviceCount", [] { return "returns " + std::to_string(hooks.deviceCount()); }},
      {"hooks setCurrentDevice", [] { return hooks.setCurrentDevice(0), nothing(); }},
      {"hooks getCurrentDevice", [] { return given(hooks.getCurrentDevice()); }},
      {"hooks exchangeDevice", [] { return given(hooks.exchangeDevice(0)); }},
      {"hooks maybeExchangeDevice", [] { return given(hooks.maybeExchangeDevice(0)); }},
      {"hooks isPinnedPtr", [] { return answer(hooks.isPinnedPtr(nullptr)); }},
      {"hooks getPinnedMemoryAllocator", [] { return given(hooks.getPinnedMemoryAllocator()); }},
      {"hooks getDeviceFromPtr", [] { return given(hooks.getDeviceFromPtr(nullptr)); }},
      {"hooks getDefaultGenerator", [] { return given(hooks.getDefaultGenerator(0)); }},
      {"hooks getNewGenerator", [] { return given(hooks.getNewGenerator(0)); }},
      {"hooks resizePrivateUse1Bytes", [] { return hooks.resizePrivateUse1Bytes({}, 0), nothing(); }},
      {"allocator raw_deleter",
       [] { return std::string(BareAllocator().raw_deleter() ? "returns a function" : "returns nullptr"); }},
      {"allocator is_simple_data_ptr",
       [] { return "compares the pointer with its context: " + answer(BareAllocator().is_simple_data_ptr({})); }},
      {"allocator getMemoryInfo", [] { return given(PureAllocator().getMemoryInfo(0)); }},
      {"pinned begin_allocate_to_pool", [] { return HostAllocator().begin_allocate_to_pool({}, {}), nothing(); }},
      {"pinned end_allocate_to_pool", [] { return HostAllocator().end_allocate_to_pool({}), nothing(); }},
      {"pinned release_pool", [] { return HostAllocator().release_pool({}), nothing(); }},
      {"generator graphsafe_set_state", [] { return Generator().graphsafe_set_state({}), nothing(); }},
      {"generator graphsafe_get_state", [] { return given(Generator().graphsafe_get_state()); }},
  };
  return all;
}

const char* kept(std::string text) {
  static auto& last = *new std::string;
  last = std::move(text);
  return last.c_str();
}

} // namespace

extern "C" {

/// Registers: 'g' the guard, 'h' the hooks, 'a' the allocator, 'p' the pinned one, 'o' the operators. Capitals: whole.
void register_parts(const char* parts) {
  static BareAllocator bare;
  static WholeAllocator whole;
  static HostAllocator pinned;
  for (; *parts; ++parts) {
    if (*parts == 'g' || *parts == 'G') {
      using c10::impl::DeviceGuardImplRegistrar;
      DeviceGuardImplRegistrar(kType, *parts == 'g' ? new BareGuard : static_cast<BareGuard*>(new WholeGuard));
    } else if (*parts == 'h') {
      at::RegisterPrivateUse1HooksInterface(new BareHooks);
    } else if (*parts == 'H') {
      at::RegisterPrivateUse1HooksInterface(new WholeHooks);
    } else if (*parts == 'a') {
      c10::SetAllocator(kType, &bare);
    } else if (*parts == 'A') {
      c10::SetAllocator(kType, &whole);
    } else if (*parts == 'P') {
      at::setHostAllocator(kType, &pinned);
    } else if (*parts == 'o') {
      auto* const library = new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
      library->impl("empty.memory_format", TORCH_FN(empty));
      library->impl("empty_strided", TORCH_FN(emptyStrided));
      library->impl("_copy_from", TORCH_FN(copyFrom));
      library->impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
      library->impl("view", TORCH_FN(at::native::view));
      library->impl("_copy_from_and_resize", TORCH_FN(copyFromAndResize));
    } else if (*parts == 'f') {
      auto* const rest = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
      rest->fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
    }
  }
}

/// The names of all calls, each on a line.
const char* call_names() {
  std::string names;
  for (const auto& [name, call] : calls()) {
    names += name + "\n";
  }
  return kept(names);
}

/// What comes of one of them.
const char* call(const char* name) {
  return kept(said(calls().at(name)));
}

/// Who has called since this process began: a function and a caller on each line.
const char* callers_seen() {
  const std::lock_guard lock(mutex);
  std::string lines;
  for (const auto& [function, all] : callers()) {
    for (const auto& caller : all) {
      lines += function + "\t" + caller + "\n";
    }
  }
  return kept(lines);
}
}
