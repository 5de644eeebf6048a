// How an operation is queued: behind the work of the current stream, on a stream of the group's.
#include "device/error.h"
#include "distributed/direct/direct_queue.h"
#include "distributed/process_group.h"
#include "graph/capture.h"
#include "memory/allocator.h"
#include "stream/current_stream.h"
#include "stream/event.h"
#include "stream/handle.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>

namespace openreg {

// LITERALINCLUDE START: LAUNCH OPERATION
c10::intrusive_ptr<c10d::Work> ProcessGroup::launch(const std::shared_ptr<Operation>& operation) {
  const at::AutoDispatchBelowADInplaceOrView noAutograd; // copies of parameters, not operations on them
  const c10::DeviceGuard onDevice(operation->device);
  checkNotCapturing(
      operation->device.index(), c10::str("occl: ", nameOf(operation->type)).c_str(),
      "the other ranks would not come to a replay. Capture what lies between two collectives");
  const std::lock_guard order(order_); // Threads may share a group: all ranks' streams must have the same order.
  const auto communication = stream(operation->device, operation->lane);
  operation->group = this;
  {
    const std::lock_guard lock(mutex_);
    refuseAfterError();
    operation->number = ++count_;
    queued_.remove_if([](const auto& it) { return it->queued && it->returned == it->functions.size(); });
    queued_.push_back(operation);
  }
  const Event ready(operation->device.index());
  ready.record(currentStreamHandle(operation->device.index()));
  ready.block(streamHandle(communication));

  const c10::StreamGuard onStream(communication);
  try {
    queueStaged(*operation, communication);
    queueDirect(*operation, communication);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failLocked(describe(*operation, std::current_exception())); // the other ranks are ahead of us now
    throw;
  }
  auto work = c10::make_intrusive<Work>(c10::intrusive_ptr<ProcessGroup>::reclaim_copy(this), operation, communication);
  // Everything is queued. The device's memory is looked after by its allocator, who was told of our stream.
  operation->toHost.clear();
  operation->onDevice.clear();
  operation->direct.clear();
  operation->inputs.clear();
  const std::lock_guard lock(mutex_);
  for (auto& copy : operation->toDevice) {
    copy.first.reset(); // not the list: run() may be reading the other half
  }
  operation->queued = true;
  return work;
}
// LITERALINCLUDE END: LAUNCH OPERATION

// LITERALINCLUDE START: QUEUE STAGED
void ProcessGroup::queueStaged(Operation& operation, const c10::Stream& stream) {
  for (const auto& [device, host] : operation.toHost) {
    recordStream(device.storage().data_ptr(), stream);
    host.copy_(device, /*non_blocking=*/true);
  }
  if (!operation.exchanges.empty()) {
    queueFunction(operation.functions.emplace_back(HostFunction{operation, false, std::nullopt}), stream);
  }
  for (const auto& [device, host] : operation.toDevice) {
    recordStream(device.storage().data_ptr(), stream);
    device.copy_(host, /*non_blocking=*/true);
  }
  for (const auto& work : operation.onDevice) {
    work();
  }
}

void ProcessGroup::queueFunction(HostFunction& function, const c10::Stream& stream) {
  check(orLaunchHostFunc(
      streamHandle(stream),
      [](void* data) {
        auto& it = *static_cast<HostFunction*>(data);
        it.operation.group->run(it);
      },
      &function));
}
// LITERALINCLUDE END: QUEUE STAGED

void ProcessGroup::queueDirect(Operation& operation, const c10::Stream& stream) {
  for (const auto* tensors : {&operation.inputs, &operation.outputs}) {
    for (const auto& tensor : *tensors) {
      recordStream(tensor.storage().data_ptr(), stream);
    }
  }
  for (const auto& [announcement, queue] : operation.direct) {
    DirectQueue parts(*this, operation, *direct_, announcement);
    queue(parts);
  }
}

void ProcessGroup::queueMeeting(Operation& operation, std::optional<Announcement> announcement) {
  auto& function = operation.functions.emplace_back(HostFunction{operation, true, std::move(announcement)});
  queueFunction(function, currentStream(operation.device.index()));
}

} // namespace openreg
