// One device: its executor from start to reset.
#include "device.h"

#include <cstring>

#include "openreg_driver.h"
#include "process/host.h"
#include "process/host_function.h"
#include "process/wire/text.h"

namespace openreg::process {

Device::Device(int index, const Options& options, Host& host)
    : DeviceBase(index, options), host_(host), delay_{options.kernelDelayNs, options.copyDelayNs} {}

namespace {

/// A text that an executor has written, and the device's name before it if it does not say it itself.
template <size_t kBytes>
std::string textOf(const char (&shared)[kBytes], int device) {
  const auto copy = snapshot(reinterpret_cast<const std::array<char, kBytes>&>(shared));
  const std::string text = printable({copy.data(), kBytes});
  const std::string name = "device " + std::to_string(device);
  return text.find(name) != text.npos ? text : name + ": " + text;
}

} // namespace

DeviceBoard& Device::board() const {
  return host_.shared().board().devices[index];
}

std::atomic<uint32_t>& Device::lostWord() const {
  return host_.shared().board().host.lost[index];
}

// LITERALINCLUDE START: PROCESS SURFACE
orError_t Device::surface() {
  if (records_.load(std::memory_order_relaxed)) [[unlikely]] {
    collectRecords();
  }
  if (host_.sharedIfAny() != nullptr && !failure.exists()) {
    readBoard();
  }
  return failure.surface();
}

/// Who waits has seen the fences of what it waits for. Its records are there, too, and must be delivered.
void Device::collectRecords() {
  const uint64_t life = this->life();
  const std::shared_ptr<Executor> it = running();
  const std::string lie = it != nullptr ? it->recorder().collect() : "";
  if (!lie.empty()) {
    distrust(life, lie);
  }
}

/// Takes over what the executor says of its device: that it has failed, or what cannot be.
void Device::readBoard() {
  const uint64_t life = this->life();
  const DeviceBoard& it = board();
  std::string astray;
  if (const uint64_t lane = astray_.load(); lane != 0) {
    astray = "says that stream " + std::to_string(lane - 1) + " is further than its last fence";
  } else if (it.failed.load(std::memory_order_acquire) != 0) {
    const std::lock_guard lock(mutex_); // A reset must not clear both in between.
    const int32_t error = it.error.load(std::memory_order_relaxed);
    if (it.failed.load() == 0 || failure.exists()) {
      return;
    }
    if (isFailure(error)) {
      failure.raise(static_cast<orError_t>(error), textOf(it.text, index));
    } else {
      astray = "says that it has failed with error " + std::to_string(error) + ", which openreg.h does not have";
    }
  }
  if (!astray.empty()) {
    distrust(life, astray);
  }
}
// LITERALINCLUDE END: PROCESS SURFACE

orError_t Device::distrust(uint64_t life, const std::string& text) {
  std::shared_ptr<Executor> liar;
  {
    const std::lock_guard lock(mutex_);
    if (life_.load() == life) {
      liar = executor_; // Else that executor has gone already, and the next one has said nothing wrong.
    }
  }
  if (liar != nullptr) {
    liar->distrust(text);
  }
  return whyLost();
}

orError_t Device::whyLost() {
  const orError_t reason = failure.surface();
  return reason != orSuccess
             ? reason
             : orDriverError(
                   orErrorDeviceLost, "device %d was reset meanwhile; expected no other call to need it then", index);
}

void Device::start(std::unique_lock<std::mutex>& lock) {
  settled_.wait(lock, [this] { return !resetting_; });
  if (executor_ != nullptr) {
    return;
  }
  require(failure.check()); // A lost device has no executor until it is reset.
  ExecutorPlan plan;
  plan.program = host_.settings.executor;
  plan.interpreter = host_.settings.interpreter;
  plan.deadlineNs = host_.settings.deadlineNs;
  try {
    if (host_.settings.deviceText.size() >= sizeof(plan.hello.options)) {
      throw StartError("OPENREG_SIM is longer than an executor can be told");
    }
    auto addresses = Space::addressesOnly(memory.total());
    if (addresses == nullptr) {
      throw StartError("the machine has not enough addresses for its memory");
    }
    memoryFile_ = SharedFile(memory.total());
    Shared& shared = host_.shared();
    plan.board = shared.boardMemory.number();
    plan.memory = memoryFile_.number();
    plan.pinned = shared.pinned.descriptor();
    shared.board().host.deviceCount.store(static_cast<uint32_t>(host_.devices.size()));
    plan.hello.device = index;
    plan.hello.deviceCount = static_cast<int32_t>(host_.devices.size());
    plan.hello.memoryBase = reinterpret_cast<uint64_t>(addresses->base());
    plan.hello.memoryBytes = memory.total();
    plan.hello.pinnedBytes = shared.pinned.bytes();
    std::memcpy(plan.hello.options, host_.settings.deviceText.c_str(), host_.settings.deviceText.size() + 1);
    executor_ = Executor::start(plan, [this](const Executor& executor, orError_t error, const std::string& text) {
      lost(executor, error, text);
    });
    memory.adopt(std::move(addresses));
  } catch (const std::runtime_error& error) { // StartError, or std::system_error from shared memory.
    memoryFile_ = SharedFile();
    throw Refused{orDriverError(orErrorDriver, "device %d cannot be used: %s", index, error.what())};
  }
  host_.peers.greet(*this, *executor_);
  executor_->post(Kind::Delay, {pieceOf(delay_)});
}

std::shared_ptr<Executor> Device::executor() {
  std::unique_lock lock(mutex_);
  start(lock);
  return executor_;
}

std::shared_ptr<Executor> Device::running() {
  const std::lock_guard lock(mutex_);
  return executor_;
}

int Device::memoryDescriptor() {
  const std::lock_guard lock(mutex_);
  return executor_ != nullptr ? memoryFile_.number() : -1;
}

void Device::interruptWaiters() {
  for (Fence& fence : board().streams) {
    fence.interrupt();
  }
}

// LITERALINCLUDE START: PROCESS LOST
void Device::lost(const Executor& executor, orError_t error, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (executor_.get() != &executor) {
    return; // A reset has been faster.
  }
  std::string message = "device " + std::to_string(index) + " was lost: " + text;
  const auto lastWords =
      snapshot(reinterpret_cast<const std::array<char, sizeof(board().lastWords)>&>(board().lastWords));
  if (lastWords[0] != '\0') {
    message += ": " + printable({lastWords.data(), lastWords.size()});
  }
  failure.impose(error, message + "; expected it to answer until orDeviceReset");
  lostWord().store(1);
  interruptWaiters();
}
// LITERALINCLUDE END: PROCESS LOST

void Device::setDelay(int64_t kernelNs, int64_t copyNs) {
  const std::lock_guard lock(mutex_);
  delay_ = {kernelNs, copyNs};
  if (executor_ != nullptr) {
    executor_->post(Kind::Delay, {pieceOf(delay_)});
  }
}

void Device::lose() {
  (void)use();
  const std::shared_ptr<Executor> it = running();
  if (it != nullptr) {
    it->kill(orErrorDeviceLost, "was killed by orSimLoseDevice");
    (void)it->ping(); // Returns when everybody has been told.
  }
  failure.impose(
      orErrorDeviceLost, "device " + std::to_string(index) + " was lost; expected it to answer until orDeviceReset");
}

void Device::reset() {
  std::shared_ptr<Executor> old;
  {
    std::unique_lock lock(mutex_);
    settled_.wait(lock, [this] { return !resetting_; });
    resetting_ = true;
    old = std::move(executor_);
    life_.fetch_add(1);
    failure.dropWork();
    for (const auto& lane : lanes_) {
      for (HeldStream* held : lane->held) {
        held->handle.store(0);
      }
    }
  }
  host_.invalidateHandles(*this);
  host_.streams.forEach([&](Stream& stream) {
    const uint64_t handle = stream.handle.load();
    if (handle != 0 && &stream.device() == this) {
      destroyStream(stream, handle);
    }
  });
  host_.peers.forget(*this);
  if (old != nullptr) {
    old->quit();
    (void)old->recorder().collect(); // Of what it has done to the end.
  }
  awaitHostFunctions(*this); // Who resets may free what they use.
  const std::lock_guard lock(mutex_);
  if (Shared* shared = host_.sharedIfAny()) {
    DeviceBoard& it = shared->board().devices[index];
    for (auto& sleepers : it.sleepers) {
      sleepers.store(0); // Those of its executor, which may have been killed asleep.
    }
    for (const auto& lane : lanes_) {
      lane->startAnew();
      posted_[lane->number].store(lane->fenced);
      Fence& fence = it.streams[lane->number];
      fence.value.store(
          lane->fenced); // Nobody waits for what was dropped. Nor for what was never there, if it says so.
      fence.interrupt();
      host_.advanceHostFence(index, lane->number, lane->hostFenced);
    }
    records_.store(false);
    it.lastWords[0] = '\0';
    it.failed.store(0);
    astray_.store(0);
    lostWord().store(0);
  }
  memory.reset();
  memoryFile_ = SharedFile();
  active_.store(false, std::memory_order_release);
  failure.clear();
  resetting_ = false;
  settled_.notify_all();
}

} // namespace openreg::process
