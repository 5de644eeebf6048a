// The life of a process group: how it begins, what it runs on, how it ends.
#include "distributed/process_group.h"

#include "distributed/own_keys.h"
#include "stream/current_stream.h"
#include "stream/pool.h"

#include <algorithm>
#include <climits>

namespace openreg {

ProcessGroup::ProcessGroup(
    Connect connect,
    const c10::intrusive_ptr<c10d::Store>& store,
    int rank,
    int size,
    c10::intrusive_ptr<Options> options)
    : Backend(rank, size), connect_(connect), asked_(Direct::wanted()), keys_(ownKeys(store, size)),
      options_(std::move(options)), transport_(connect(keys_, rank, size, options_)) {
  // Gloo returns when this rank is connected. If it left then, others would see a connection close that they still
  // make.
  keys_->set(c10::str("connected/", rank), std::vector<uint8_t>{1});
  for (int other = 0; other < size; ++other) {
    try {
      keys_->wait({c10::str("connected/", other)}, options_->timeout);
    } catch (const std::exception& error) {
      C10_THROW_ERROR(
          DistBackendError, c10::str(
                                "occl: rank ", other, " of ", size, " is not connected with the others, ",
                                options_->timeout.count(), " ms after rank ", rank, " was: ", error.what()));
    }
  }
}

// Each Work holds the group, so nobody waits for what may still be queued: it is dropped. Without a shutdown before it,
// the other ranks see the connection close.
ProcessGroup::~ProcessGroup() {
  ProcessGroup::abort();
  for (const auto& [lane, stream] : streams_) {
    try {
      stream.synchronize(); // what is left ends at once
    } catch (const c10::Error&) {
      continue; // The device has failed, and calls no function any more; but one of ours may be running.
    }
  }
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return running_ == 0; });
  if (abandoned_) {
    (void)transport_.release(); // its destructor would wait for the other ranks
  }
}

// LITERALINCLUDE START: COMMUNICATION STREAM
// Lane 0 is for collectives. Sends to and receives from each rank have lanes of their own: what waits for one rank must
// not hold up another.
c10::Stream ProcessGroup::stream(c10::Device device, int64_t lane) {
  if (!device_) {
    device_ = device;
  }
  TORCH_CHECK_VALUE(
      device == *device_, "occl: this group works on ", *device_, ", but the tensor is on ", device,
      "; expected one device for each process and group");
  auto found = streams_.find(lane);
  if (found == streams_.end()) {
    found = streams_.emplace(lane, nextStream(device.index(), /*priority=*/INT_MIN)).first; // the highest there is
  }
  return found->second;
}
// LITERALINCLUDE END: COMMUNICATION STREAM

// LITERALINCLUDE START: CHOOSE TRANSPORT
// PyTorch calls it on all ranks of a group, if it was told the device: init_process_group(device_id=...).
void ProcessGroup::eagerConnectSingleDevice(at::Device device) {
  if (direct_ == nullptr && !boundTo_) {
    boundTo_ = device;
    direct_ = Direct::connect(keys_, getRank(), getSize(), device, asked_, whyStaged_);
  }
}
// LITERALINCLUDE END: CHOOSE TRANSPORT

c10::Device ProcessGroup::barrierDevice(const c10d::BarrierOptions& opts) {
  if (opts.device && opts.device->type() == kDeviceType) {
    return {kDeviceType, resolveIndex(*opts.device)};
  }
  if (const auto bound = getBoundDeviceId()) {
    return *bound;
  }
  return device_ ? *device_ : c10::Device(kDeviceType, currentDevice());
}

void ProcessGroup::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  transport_->setTimeout(timeout);
}

uint64_t ProcessGroup::getSequenceNumberForGroup() {
  const std::lock_guard lock(mutex_);
  return count_;
}

c10::intrusive_ptr<c10d::Backend> ProcessGroup::split(
    const c10::intrusive_ptr<c10d::Store>& store,
    const std::vector<int>& ranks,
    const c10::intrusive_ptr<Options>& options) {
  const auto own = std::find(ranks.begin(), ranks.end(), getRank());
  if (own == ranks.end()) {
    return nullptr;
  }
  const auto rank = static_cast<int>(own - ranks.begin());
  auto group = c10::make_intrusive<ProcessGroup>(connect_, store, rank, static_cast<int>(ranks.size()), options);
  if (boundTo_) {
    group->eagerConnectSingleDevice(*boundTo_);
  }
  return group;
}

// LITERALINCLUDE START: GROUP END
void ProcessGroup::shutdown() {
  std::map<int64_t, c10::Stream> streams;
  {
    const std::lock_guard order(order_);
    streams = streams_;
  }
  for (const auto& [lane, stream] : streams) {
    stream.synchronize();
  }
}

void ProcessGroup::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (!error_) {
    failLocked(
        std::make_exception_ptr(
            c10::DistBackendError(
                {__func__, __FILE__, __LINE__},
                c10::str("occl: the group ", nameOfGroup(), " was aborted on rank ", getRank(), " of ", getSize()))));
  }
  for (auto* work : interruptible_) {
    work->abort();
  }
  returned_.notify_all();
}
// LITERALINCLUDE END: GROUP END

} // namespace openreg
