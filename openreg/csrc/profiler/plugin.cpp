// The device's part of torch.profiler.
#include "profiler/kineto.h"

#include "device/device_name.h"
#include "profiler/recorder.h"
#include "profiler/trace.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace openreg {
namespace {

// LITERALINCLUDE START: PROFILER SESSION
/// One recording. Kineto calls its functions in this order; the numbers of operators come from the threads that run
/// them.
class Session final : public libkineto::IActivityProfilerSession {
 public:
  explicit Session(const ActivityTypes& wanted) : wanted_(wanted) {}

  void start() override {
    recorder_.start();
    status_ = libkineto::TraceStatus::RECORDING;
  }

  void pushCorrelationId(uint64_t id) override { Recorder::pushOp(id); }
  void popCorrelationId() override { Recorder::popOp(); }
  void pushUserCorrelationId(uint64_t id) override { Recorder::pushAnnotation(id); }
  void popUserCorrelationId() override { Recorder::popAnnotation(); }

  void stop() override {
    recorder_.stop();
    status_ = libkineto::TraceStatus::PROCESSING;
    for (const auto& error : recorder_.errors()) { // which Kineto shows to nobody
      TORCH_WARN(kDeviceName, ": the profile lacks what has happened on the device: ", error);
    }
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, [](int32_t) { return nullptr; }, 0, 0);
  }
  void processTrace(libkineto::ActivityLogger& logger, FindOp findOp, int64_t, int64_t) override {
    trace_ = writeTrace(recorder_, wanted_, findOp, logger);
  }

  std::vector<std::string> errors() override { return recorder_.errors(); }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(trace_); }

  // The trace has named all its devices and streams by now. Unless one is named here, Kineto names them "GPU 0" and so
  // on.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    return std::make_unique<libkineto::DeviceInfo>(nameOfDevice(0));
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }

 private:
  const ActivityTypes wanted_;
  Recorder recorder_;
  std::unique_ptr<libkineto::CpuTraceBuffer> trace_;
};
// LITERALINCLUDE END: PROFILER SESSION

// LITERALINCLUDE START: PROFILER PLUGIN
class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const ActivityTypes& availableActivities() const override { return types_; }

  /// Nothing is recorded unless the user has asked for the device: profile(activities=[ProfilerActivity.CPU]) hasn't.
  std::unique_ptr<libkineto::IActivityProfilerSession>
  configure(const ActivityTypes& wanted, const libkineto::Config&) override {
    const bool ours = std::ranges::any_of(ofDevices_, [&](auto type) { return wanted.contains(type); });
    return ours ? std::make_unique<Session>(wanted) : nullptr;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession>
  configure(int64_t, int64_t, const ActivityTypes& wanted, const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = kDeviceName;
  const ActivityTypes types_{libkineto::ActivityType::CONCURRENT_KERNEL, libkineto::ActivityType::GPU_MEMCPY,
                             libkineto::ActivityType::GPU_MEMSET,        libkineto::ActivityType::GPU_USER_ANNOTATION,
                             libkineto::ActivityType::CUDA_SYNC,         libkineto::ActivityType::PRIVATEUSE1_RUNTIME};
  // Calls of the driver's entries are among what PyTorch asks for with the CPU, too.
  const ActivityTypes ofDevices_{
      libkineto::ActivityType::CONCURRENT_KERNEL, libkineto::ActivityType::GPU_MEMCPY,
      libkineto::ActivityType::GPU_MEMSET, libkineto::ActivityType::GPU_USER_ANNOTATION};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);
// LITERALINCLUDE END: PROFILER PLUGIN

} // namespace
} // namespace openreg
