// One GPU, or a share of one.
#include "device.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>

#include "driver.h"

namespace openreg::cuda {

void Device::identify() {
  if (known_.load(std::memory_order_acquire)) {
    return;
  }
  Cuda& all = Cuda::instance();
  const std::lock_guard lock(starting_);
  if (known_.load()) {
    return;
  }
  const int gpus = all.initialize();
  OPENREG_CUDA(cuDeviceGet, &cuda_, index % gpus); // More devices than GPUs: each has a context of its own.
  char name[128] = "";
  OPENREG_CUDA(cuDeviceGetName, name, sizeof(name), cuda_);
  name_ = name;
  OPENREG_CUDA(cuDeviceGetAttribute, &multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, cuda_);
  OPENREG_CUDA(cuDeviceGetAttribute, &major_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cuda_);
  OPENREG_CUDA(cuDeviceGetAttribute, &minor_, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, cuda_);
  size_t bytes = 0;
  OPENREG_CUDA(cuDeviceTotalMem, &bytes, cuda_);
  const int sharers = (static_cast<int>(all.devices.size()) + gpus - 1) / gpus;
  memory.resize(bytes / static_cast<size_t>(sharers) / Physical::kPage * Physical::kPage);
  known_.store(true, std::memory_order_release);
}

void Device::start() {
  for (const auto& device : Cuda::instance().devices) {
    device->identify(); // All: memory is mapped for each that can reach it.
  }
  const std::lock_guard lock(starting_);
  if (context_.load() != nullptr) {
    return;
  }
  CUcontext made = nullptr;
  OPENREG_CUDA(cuCtxCreate, &made, 0, cuda_); // Our own: a reset must not take away what others have made.
  OPENREG_CUDA(cuCtxSetCurrent, made);
  void* pinned = nullptr;
  OPENREG_CUDA(cuMemHostAlloc, &pinned, sizeof(Report), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  report_ = new (pinned) Report{};
  OPENREG_CUDA(cuMemHostGetDevicePointer, &reportThere_, pinned, 0);
  OPENREG_CUDA(cuMemAlloc, &failedWord_, sizeof(int32_t));
  OPENREG_CUDA(cuMemsetD8Async, failedWord_, 0, sizeof(int32_t), nullptr);
  OPENREG_CUDA(cuStreamSynchronize, nullptr);
  context_.store(made, std::memory_order_release);
}

orError_t Device::use() {
  if (context() == nullptr) [[unlikely]] {
    start();
  }
  enter();
  return DeviceBase::use();
}

void Device::enter() const {
  if (const CUcontext it = context()) {
    OPENREG_CUDA(cuCtxSetCurrent, it);
  }
}

void Device::note(CUresult result) {
  if (isSticky(result)) [[unlikely]] {
    failure.raise(codeOf(result), "device " + std::to_string(index) + ": " + inWords(result));
  }
}

bool Device::hasFailed() {
  if (context() != nullptr) {
    if (const int code = __atomic_load_n(&report_->code, __ATOMIC_ACQUIRE)) [[unlikely]] {
      failure.raise(
          static_cast<orError_t>(code),
          "kernel '" + std::string(report_->kernel) + "' on device " + std::to_string(index) + ": " + report_->text);
    }
  }
  return failure.exists();
}

orError_t Device::surface() {
  return hasFailed() ? failure.surface() : orSuccess;
}

namespace {
/// A failure that the host has found, on its way to the device's turn.
struct Late {
  Failure& failure;
  orError_t error;
  std::string message;
};
} // namespace

void Device::failBehind(CUstream stream, orError_t error, const std::string& message) {
  auto late = std::make_unique<Late>(Late{failure, error, message});
  OPENREG_CUDA(
      cuLaunchHostFunc, stream,
      [](void* state) {
        const std::unique_ptr<Late> it(static_cast<Late*>(state));
        it->failure.raise(it->error, it->message);
      },
      late.get());
  std::ignore = late.release();
  OPENREG_CUDA(cuMemsetD8Async, failedWord_, 1, sizeof(int32_t), stream);
}

void* Device::allocate(size_t size) {
  {
    const std::lock_guard lock(starting_);
    if (memory.base() == nullptr) {
      memory.adopt(Space::given(physical_.reserve(memory.total()), memory.total()));
    }
  }
  void* allocated = memory.allocate(size);
  if (allocated != nullptr && !physical_.back(static_cast<char*>(allocated), size)) {
    memory.release(allocated);
    allocated = nullptr;
  }
  if (allocated == nullptr) {
    throw Refused{orDriverError(
        orErrorMemoryAllocation, "argument 'size' is %zu bytes; device %d has %zu bytes free of %zu in total", size,
        index, memory.free(), memory.total())};
  }
  return allocated;
}

void Device::info(size_t* free, size_t* total) const {
  *free = memory.free();
  *total = memory.total();
}

void Device::describe(orDeviceProp& properties) {
  identify();
  std::snprintf(properties.name, sizeof(properties.name), "%s", name_.c_str());
  properties.totalGlobalMem = memory.total();
  properties.major = major_;
  properties.minor = minor_;
  properties.multiProcessorCount = multiprocessors_;
  properties.memoryAlignment = kMemoryAlignment;
}

bool Device::reaches(const Device& peer) const {
  for (const auto& device : Cuda::instance().devices) {
    device->identify();
  }
  int can = 1;
  if (cuda_ != peer.cuda_) {
    OPENREG_CUDA(cuDeviceCanAccessPeer, &can, cuda_, peer.cuda_);
  }
  return can != 0;
}

void Device::drain() {
  if (context() != nullptr) {
    enter();
    note(library().cuCtxSynchronize());
  }
}

void Device::awaitVisitors() {
  for (const auto& other : Cuda::instance().devices) { // CUDA does not tell who uses the memory.
    if (other.get() != this) {
      other->drain();
    }
  }
}

uint64_t Device::defaultStream() {
  return findOrMakeDefault(Cuda::instance().streams, [this] { return createStream(0); });
}

uint64_t Device::createStream(int priority) {
  Stream* stream = Cuda::instance().streams.acquire();
  return stream != nullptr ? stream->open(*this, priority) : 0;
}

void Device::reset() {
  Cuda& all = Cuda::instance();
  if (context() == nullptr) {
    active_.store(false);
    return;
  }
  failure.dropWork(); // Functions of the host that have not begun are not called. CUDA can't drop what it has queued.
  all.invalidateHandles(*this);
  all.streams.forEach([this](Stream& stream) {
    if (const uint64_t handle = stream.handle.load(); handle != 0 && &stream.device() == this) {
      stream.close(handle);
    }
  });
  enter();
  const CUresult idle = library().cuCtxSynchronize();
  const std::lock_guard lock(starting_);
  memory.reset();
  physical_.drop();
  if (isSticky(idle)) { // The context is of no use. What it has made is gone with it.
    all.forgetCode(*this);
    forgetBlas(context());
    const std::lock_guard pools(mutex_);
    (void)library().cuCtxDestroy(context());
    events_[0].clear();
    events_[1].clear();
    words_.clear();
    scratches.forget();
    context_.store(nullptr);
  } else {
    *report_ = {};
    OPENREG_CUDA(cuMemsetD8Async, failedWord_, 0, sizeof(int32_t), nullptr);
    OPENREG_CUDA(cuStreamSynchronize, nullptr);
  }
  peers_.store(0);
  for (const auto& other : all.devices) {
    other->disablePeer(*this);
  }
  active_.store(false, std::memory_order_release);
  failure.clear();
}

CUevent Device::takeEvent(bool timed) {
  {
    const std::lock_guard lock(mutex_);
    auto& events = events_[timed ? 1 : 0];
    if (!events.empty()) {
      const CUevent event = events.back();
      events.pop_back();
      return event;
    }
  }
  CUevent made = nullptr;
  OPENREG_CUDA(cuEventCreate, &made, timed ? 0 : CU_EVENT_DISABLE_TIMING);
  return made;
}

void Device::giveEvent(CUevent event, bool timed) {
  const std::lock_guard lock(mutex_);
  events_[timed ? 1 : 0].push_back(event);
}

std::pair<uint32_t*, CUdeviceptr> Device::takeWord() {
  const std::lock_guard lock(mutex_);
  if (words_.empty()) {
    void* pinned = nullptr;
    OPENREG_CUDA(cuMemHostAlloc, &pinned, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    std::memset(pinned, 0, 4096);
    CUdeviceptr there = 0;
    OPENREG_CUDA(cuMemHostGetDevicePointer, &there, pinned, 0);
    for (size_t i = 0; i < 4096 / sizeof(uint32_t); ++i) {
      words_.emplace_back(static_cast<uint32_t*>(pinned) + i, there + i * sizeof(uint32_t));
    }
  }
  const auto word = words_.back();
  words_.pop_back();
  return word;
}

void Device::giveWord(uint32_t* word, CUdeviceptr there) {
  const std::lock_guard lock(mutex_);
  words_.emplace_back(word, there);
}

Services Device::services(CUstream stream, const char* kernelName) {
  return {failedWord_, reportThere_, kernelName, scratches.of(stream), 0};
}

} // namespace openreg::cuda
