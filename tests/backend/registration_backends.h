// Two backends for the page on the registration contract: one that overrides only what PyTorch declares pure, and one
// that overrides all of it and writes down which function of PyTorch's has called. Both keep their memory on the host.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr auto kKey = c10::DispatchKey::PrivateUse1;

std::mutex mutex;
std::map<std::string, std::set<std::string>>& callers() {
  static auto& all = *new std::map<std::string, std::set<std::string>>;
  return all;
}

/// `at::detail::f(int) const` becomes `at::detail::f`; template arguments stay out, too.
std::string nameOf(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  std::string kept;
  int depth = 0;
  for (const char letter : name) {
    depth -= letter == '>';
    if (letter == '(' && depth == 0 && !kept.empty()) {
      break;
    }
    if (depth == 0 && letter != '<' && letter != '>') {
      kept += letter;
    }
    depth += letter == '<';
  }
  return kept.substr(kept.rfind(' ') + 1);
}

/// Notes the caller of one of our functions: the nearest function of PyTorch's libraries that has a name there.
void seen(const std::string& function) {
  void* frames[24];
  const int count = backtrace(frames, 24);
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&seen), &self);
  std::string caller;
  for (int i = 1; i < count; ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr || info.dli_fbase == self.dli_fbase) {
      continue;
    }
    const char* const slash = std::strrchr(info.dli_fname, '/');
    const std::string file = slash ? slash + 1 : info.dli_fname;
    if (file.rfind("libtorch", 0) != 0 && file.rfind("libc10", 0) != 0) {
      break;
    }
    if (info.dli_sname != nullptr) {
      caller = file + ": " + nameOf(info.dli_sname);
      break;
    }
    caller = caller.empty() ? file + ": a function without a name" : caller;
  }
  if (!caller.empty()) {
    const std::lock_guard lock(mutex);
    callers()[function].insert(caller);
  }
}

thread_local c10::DeviceIndex current = 0;
thread_local c10::StreamId stream = 0;

struct BareGuard : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return seen("guard type"), kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    seen("guard exchangeDevice");
    return {kType, std::exchange(current, device.index())};
  }
  c10::Device getDevice() const override { return seen("guard getDevice"), c10::Device(kType, current); }
  void setDevice(c10::Device device) const override { seen("guard setDevice"), current = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    seen("guard uncheckedSetDevice");
    current = device.index();
  }
  c10::Stream getStream(c10::Device device) const override {
    seen("guard getStream");
    return c10::Stream(c10::Stream::UNSAFE, {kType, std::max<c10::DeviceIndex>(device.index(), 0)}, stream);
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    seen("guard exchangeStream");
    return c10::Stream(c10::Stream::UNSAFE, next.device(), std::exchange(stream, next.id()));
  }
  c10::DeviceIndex deviceCount() const noexcept override { return seen("guard deviceCount"), 1; }
};

struct WholeGuard final : BareGuard {
  c10::Stream getDefaultStream(c10::Device) const override {
    seen("guard getDefaultStream");
    return c10::Stream(c10::Stream::UNSAFE, {kType, 0}, 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    seen("guard getStreamFromGlobalPool");
    return c10::Stream(c10::Stream::UNSAFE, {kType, 0}, 1);
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    seen("guard getNewStream");
    return c10::Stream(c10::Stream::UNSAFE, {kType, 0}, 2);
  }
  void* getStreamNativeHandle(c10::Stream) const override { return seen("guard getStreamNativeHandle"), nullptr; }
  void destroyEvent(void*, c10::DeviceIndex) const noexcept override { seen("guard destroyEvent"); }
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    seen("guard record");
    *event = event;
  }
  void block(void*, const c10::Stream&) const override { seen("guard block"); }
  bool queryEvent(void*) const override { return seen("guard queryEvent"), true; }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    seen("guard getDeviceCapability");
    return {};
  }
  bool queryStream(const c10::Stream&) const override { return seen("guard queryStream"), true; }
  void synchronizeStream(const c10::Stream&) const override { seen("guard synchronizeStream"); }
  bool isStreamCapturing(const c10::Stream&) const override { return seen("guard isStreamCapturing"), false; }
  void synchronizeEvent(void*) const override { seen("guard synchronizeEvent"); }
  void synchronizeDevice(c10::DeviceIndex) const override { seen("guard synchronizeDevice"); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {
    seen("guard recordDataPtrOnStream");
  }
  double elapsedTime(void*, void*, c10::DeviceIndex) const override { return seen("guard elapsedTime"), 0.0; }
};

/// Host memory, under the name of the device.
c10::DataPtr hostMemory(size_t size) {
  void* const data = std::malloc(std::max<size_t>(size, 1));
  return {data, data, &std::free, {kType, 0}};
}

struct BareAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override { return seen("allocator allocate"), hostMemory(size); }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    seen("allocator copy_data");
    default_copy_data(to, from, count);
  }
};

struct WholeAllocator : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t size) override { return seen("allocator allocate"), hostMemory(size); }
  c10::DeleterFnPtr raw_deleter() const override { return seen("allocator raw_deleter"), &std::free; }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return seen("allocator is_simple_data_ptr"), c10::Allocator::is_simple_data_ptr(data);
  }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    seen("allocator copy_data");
    default_copy_data(to, from, count);
  }
  bool initialized() override { return seen("allocator initialized"), true; }
  void emptyCache(c10::MempoolId_t) override { seen("allocator emptyCache"); }
  void recordStream(const c10::DataPtr&, c10::Stream) override { seen("allocator recordStream"); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    seen("allocator getDeviceStats");
    return {};
  }
  void resetAccumulatedStats(c10::DeviceIndex) override { seen("allocator resetAccumulatedStats"); }
  void resetPeakStats(c10::DeviceIndex) override { seen("allocator resetPeakStats"); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    return seen("allocator getMemoryInfo"), std::pair{1, 1};
  }
};

/// Of c10::DeviceAllocator, too, only what is pure.
struct PureAllocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t size) override { return hostMemory(size); }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
};

struct HostAllocator final : at::HostAllocator {
  c10::DataPtr allocate(size_t size) override {
    void* const data = std::malloc(std::max<size_t>(size, 1));
    return {data, data, &std::free, c10::DeviceType::CPU};
  }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }
  bool record_event(void*, void*, c10::Stream) override { return seen("pinned record_event"), true; }
  void empty_cache() override { seen("pinned empty_cache"); }
  at::HostStats get_stats() override {
    seen("pinned get_stats");
    return {};
  }
  void reset_accumulated_stats() override { seen("pinned reset_accumulated_stats"); }
  void reset_peak_stats() override { seen("pinned reset_peak_stats"); }
};

struct Generator : c10::GeneratorImpl {
  Generator() : GeneratorImpl(c10::Device(kType, 0), c10::DispatchKeySet(kKey)) {}
  void set_current_seed(uint64_t) override { seen("generator set_current_seed"); }
  void set_offset(uint64_t) override { seen("generator set_offset"); }
  uint64_t get_offset() const override { return seen("generator get_offset"), 0; }
  uint64_t current_seed() const override { return seen("generator current_seed"), 1; }
  uint64_t seed() override { return seen("generator seed"), 1; }
  void set_state(const c10::TensorImpl&) override { seen("generator set_state"); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    seen("generator get_state");
    return at::detail::empty_cpu({8}, at::kByte).getIntrusivePtr();
  }
  Generator* clone_impl() const override { return seen("generator clone_impl"), new Generator; }
};

struct WholeGenerator final : Generator {
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>&) override {
    seen("generator graphsafe_set_state");
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    seen("generator graphsafe_get_state");
    return c10::make_intrusive<WholeGenerator>();
  }
};

struct BareHooks final : at::PrivateUse1HooksInterface {};

struct WholeHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return seen("hooks isBuilt"), true; }
  bool isAvailable() const override { return seen("hooks isAvailable"), true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return seen("hooks hasPrimaryContext"), true; }
  void init() const override { seen("hooks init"); }
  c10::DeviceIndex deviceCount() const override { return seen("hooks deviceCount"), 1; }
  void setCurrentDevice(c10::DeviceIndex) const override { seen("hooks setCurrentDevice"); }
  c10::DeviceIndex getCurrentDevice() const override { return seen("hooks getCurrentDevice"), 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return seen("hooks exchangeDevice"), 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return seen("hooks maybeExchangeDevice"), 0; }
  bool isPinnedPtr(const void*) const override { return seen("hooks isPinnedPtr"), false; }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static HostAllocator allocator;
    return seen("hooks getPinnedMemoryAllocator"), &allocator;
  }
  c10::Device getDeviceFromPtr(void*) const override { return seen("hooks getDeviceFromPtr"), c10::Device(kType, 0); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const auto generator = at::make_generator<WholeGenerator>();
    return seen("hooks getDefaultGenerator"), generator;
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return seen("hooks getNewGenerator"), at::make_generator<WholeGenerator>();
  }
  void resizePrivateUse1Bytes(const c10::Storage&, size_t) const override { seen("hooks resizePrivateUse1Bytes"); }
};

} // namespace
