// Records of the driver as the events of a trace.
#include "profiler/trace.h"

#include "device/device.h"
#include "device/device_name.h"
#include "stream/pool.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace openreg {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

/// Kineto's events are in time since 1970, the driver's in time since the machine started. Two clocks cannot be read at
/// once, and on a busy machine the thread may stand still in between: of some readings the closest one counts.
int64_t sinceEpoch() {
  const auto now = [](auto clock) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(decltype(clock)::now().time_since_epoch()).count();
  };
  int64_t shift = 0;
  int64_t closest = std::numeric_limits<int64_t>::max();
  for (int reading = 0; reading < 20; ++reading) {
    const int64_t before = now(std::chrono::steady_clock());
    const int64_t epoch = now(std::chrono::system_clock());
    const int64_t apart = now(std::chrono::steady_clock()) - before;
    if (apart < closest) {
      closest = apart;
      shift = epoch - before - apart / 2;
    }
  }
  return shift;
}

// LITERALINCLUDE START: TRACE NAMES
/// As CUDA's traces say it, so that tools that look for these words find them.
std::string nameOf(const orActivityRecord& record) {
  if (record.kind == orActivityMemset) {
    return "Memset (Device)";
  }
  if (record.kind != orActivityMemcpy) {
    return record.name;
  }
  const char* host = record.host == orMemoryTypeHost ? "Pinned" : "Pageable";
  switch (record.direction) {
    case orMemcpyHostToDevice:
      return std::string("Memcpy HtoD (") + host + " -> Device)";
    case orMemcpyDeviceToHost:
      return std::string("Memcpy DtoH (Device -> ") + host + ")";
    case orMemcpyHostToHost:
      return "Memcpy HtoH";
    default:
      return record.peer < 0 ? "Memcpy DtoD (Device -> Device)" : "Memcpy PtoP (Device -> Device)";
  }
}

ActivityType typeOf(orActivityKind kind) {
  switch (kind) {
    case orActivityKernel:
      return ActivityType::CONCURRENT_KERNEL;
    case orActivityMemcpy:
      return ActivityType::GPU_MEMCPY;
    case orActivityMemset:
      return ActivityType::GPU_MEMSET;
    case orActivityWait:
    case orActivityHostFunction:
      return ActivityType::CUDA_SYNC;
    default:
      return ActivityType::PRIVATEUSE1_RUNTIME;
  }
}

/// The stream stands, and the device is not busy. PyTorch has no name for this type by which one could ask for it.
bool isWanted(ActivityType type, const ActivityTypes& wanted) {
  return wanted.contains(type == ActivityType::CUDA_SYNC ? ActivityType::CONCURRENT_KERNEL : type);
}
// LITERALINCLUDE END: TRACE NAMES

/// The numbers that PyTorch has for the streams of a device: 0 is the default stream.
class StreamNumbers {
 public:
  explicit StreamNumbers(const Recorder& recorder) : recorder_(recorder) {}

  int32_t of(const orActivityRecord& record) {
    const auto [known, isNew] = numbers_.try_emplace({record.device, record.stream}, 0);
    if (isNew) {
      known->second = find(static_cast<c10::DeviceIndex>(record.device), record.stream);
    }
    return known->second;
  }

 private:
  int32_t find(c10::DeviceIndex device, orStream_t stream) {
    if (recorder_.isDefaultStream(stream)) {
      return 0;
    }
    const auto number = findNumber(device, stream);
    return number > 0 ? static_cast<int32_t>(number) : nextOther_++;
  }

  const Recorder& recorder_;
  std::map<std::pair<int, orStream_t>, int32_t> numbers_;
  /// PyTorch doesn't know a stream that another library has made.
  int32_t nextOther_ = 1 << 20;
};

/// Puts a trace together.
class Writer {
 public:
  Writer(const Recorder& recorder, const ActivityTypes& wanted, const FindOp& findOp, libkineto::ActivityLogger& logger)
      : wanted_(wanted), findOp_(findOp), logger_(logger), shift_(sinceEpoch()), numbers_(recorder) {
    for (const auto& it : recorder.recorded()) {
      if (it.record.stream == nullptr) {
        calls_[it.record.correlation] = &it;
      } else if (isWanted(typeOf(it.record.kind), wanted)) {
        worked_.insert(it.record.correlation);
      }
    }
  }

  // LITERALINCLUDE START: TRACE EVENT
  void add(const Recorded& it) {
    const auto& record = it.record;
    const auto type = typeOf(record.kind);
    if (!isWanted(type, wanted_)) {
      return;
    }
    auto& event = make(type, nameOf(record), record.startNs, record.endNs);
    event.addMetadata("correlation", record.correlation);
    if (record.bytes != 0) {
      event.addMetadata("bytes", record.bytes);
    }
    const bool called = record.stream == nullptr;
    const auto call = called ? &it : callOf(record);
    // What is linked is time that the operator takes on the device. To wait takes none.
    const bool isLinked = type != ActivityType::CUDA_SYNC && call != nullptr && call->op != 0;
    event.linked = isLinked ? findOp_(static_cast<int32_t>(call->op)) : nullptr;
    // PyTorch takes the number of an event without a link for an operator's, and gives it that operator's kernels, too.
    event.id = event.linked != nullptr ? static_cast<int32_t>(record.correlation) : 0;
    if (called) {
      event.device = libkineto::processId();
      event.resource = event.threadId = it.thread;
    } else {
      place(event, record);
      if (call != nullptr) {
        extend(event, call->annotation.get());
      }
    }
    if (!called || worked_.contains(record.correlation)) { // An arrow from the call to its work.
      event.flow.id = static_cast<uint32_t>(record.correlation);
      event.flow.type = libkineto::kLinkAsyncCpuGpu;
      event.flow.start = called ? 1 : 0;
    }
    events_.push_back(&event);
  }
  // LITERALINCLUDE END: TRACE EVENT

  std::unique_ptr<libkineto::CpuTraceBuffer> finish() {
    for (const auto& [key, range] : annotations_) {
      const auto& [device, stream, number] = key;
      if (const auto* annotation = findOp_(static_cast<int32_t>(number))) {
        auto& event = make(ActivityType::GPU_USER_ANNOTATION, annotation->name(), 0, 0);
        std::tie(event.startTime, event.endTime) = range;
        event.device = device;
        event.resource = stream;
        event.id = static_cast<int32_t>(number);
        events_.push_back(&event);
      }
    }
    const int64_t begin = events_.empty() ? 0 : events_.front()->startTime;
    for (const int device : devices_) {
      logger_.handleDeviceInfo(nameOfDevice(device), begin);
    }
    for (const auto& [device, stream] : streams_) {
      logger_.handleResourceInfo({stream, stream, device, "stream " + std::to_string(stream)}, begin);
    }
    for (const auto* event : events_) {
      event->log(logger_);
    }
    return std::move(buffer_);
  }

 private:
  GenericTraceActivity& make(ActivityType type, const std::string& name, int64_t startNs, int64_t endNs) {
    buffer_->emplace_activity(buffer_->span, type, name);
    auto& event = *buffer_->activities.back();
    event.startTime = startNs + shift_;
    event.endTime = endNs + shift_;
    return event;
  }

  const Recorded* callOf(const orActivityRecord& record) const {
    const auto call = calls_.find(record.correlation);
    return call != calls_.end() ? call->second : nullptr;
  }

  void place(GenericTraceActivity& event, const orActivityRecord& record) {
    event.device = record.device;
    event.resource = numbers_.of(record);
    event.addMetadata("device", record.device);
    event.addMetadata("stream", event.resource);
    devices_.insert(event.device);
    streams_.insert({event.device, event.resource});
  }

  /// A record_function is drawn on a stream from the first piece of its work there to the last.
  void extend(const GenericTraceActivity& event, const Annotation* annotation) {
    if (!isWanted(ActivityType::GPU_USER_ANNOTATION, wanted_)) {
      return;
    }
    const std::pair range(event.startTime, event.endTime);
    for (; annotation != nullptr; annotation = annotation->outer.get()) {
      auto& all = annotations_.try_emplace({event.device, event.resource, annotation->number}, range).first->second;
      all = {std::min(all.first, range.first), std::max(all.second, range.second)};
    }
  }

  const ActivityTypes& wanted_;
  const FindOp& findOp_;
  libkineto::ActivityLogger& logger_;
  const int64_t shift_;
  std::unordered_map<uint64_t, const Recorded*> calls_;
  std::set<uint64_t> worked_; ///< Calls that have submitted something.
  StreamNumbers numbers_;
  std::map<std::tuple<int32_t, int32_t, uint64_t>, std::pair<int64_t, int64_t>> annotations_;
  std::set<int32_t> devices_;
  std::set<std::pair<int32_t, int32_t>> streams_;
  std::vector<const GenericTraceActivity*> events_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
};

} // namespace

libkineto::DeviceInfo nameOfDevice(int device) {
  const auto name = std::string(kDeviceName) + ":" + std::to_string(device);
  return {device, libkineto::kExceedMaxPid + device, name, name};
}

std::unique_ptr<libkineto::CpuTraceBuffer> writeTrace(
    const Recorder& recorder, const ActivityTypes& wanted, const FindOp& findOp, libkineto::ActivityLogger& logger) {
  Writer writer(recorder, wanted, findOp, logger);
  for (const auto& it : recorder.recorded()) {
    writer.add(it);
  }
  return writer.finish();
}

} // namespace openreg
