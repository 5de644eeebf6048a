// What a collective is built of, and how several become one operation.
#include "distributed/coalescing.h"

#include "device/device.h"
#include "device/device_name.h"
#include "distributed/collective.h"

#include <utility>

namespace openreg {

std::shared_ptr<Operation> ProcessGroup::operation(c10d::OpType type, c10::Device device, int64_t lane) {
  TORCH_CHECK_VALUE(
      device.type() == kDeviceType, "occl: ", nameOf(type), ": got a tensor on ", device,
      "; expected one on a device of ", kDeviceName);
  if (coalescing_) {
    coalescing_->device = device;
    return coalescing_;
  }
  auto made = std::make_shared<Operation>();
  made->type = type;
  made->device = device;
  made->lane = lane;
  return made;
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::add(const std::shared_ptr<Operation>& operation, Exchange exchange) {
  operation->exchanges.push_back(std::move(exchange));
  return operation == coalescing_ ? nullptr : launch(operation);
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::addDirect(
    const std::shared_ptr<Operation>& operation, Announcement announcement, std::function<void(DirectQueue&)> queue) {
  operation->direct.emplace_back(std::move(announcement), std::move(queue));
  return operation == coalescing_ ? nullptr : launch(operation);
}

Announcement ProcessGroup::announce(c10d::OpType type, int64_t sends, int64_t expects) const {
  const auto size = static_cast<size_t>(getSize());
  Announcement made;
  made.type = type;
  made.sends.assign(size, sends);
  made.expects.assign(size, expects);
  return made;
}

Announcement
ProcessGroup::announceReduction(c10d::OpType type, const at::Tensor& result, const c10d::ReduceOp& reduceOp) const {
  auto made = announce(type, byteCount(result), byteCount(result));
  made.reduction = static_cast<int64_t>(reduceOp.op_);
  made.dtype = static_cast<int64_t>(result.scalar_type());
  return made;
}

void ProcessGroup::startCoalescing() {
  TORCH_CHECK(!coalescing_, "occl: coalescing has begun already; expected its end first");
  coalescing_ = std::make_shared<Operation>();
  coalescing_->type = c10d::OpType::COALESCED;
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::endCoalescing() {
  const auto operation = std::exchange(coalescing_, nullptr);
  TORCH_CHECK(operation, "occl: coalescing has not begun; expected its beginning first");
  return operation->exchanges.empty() && operation->direct.empty() ? nullptr : launch(operation);
}

} // namespace openreg
