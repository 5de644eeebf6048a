// What a collective returns: the point in the communication stream where it is done.
#include "distributed/work.h"

#include "distributed/process_group.h"
#include "stream/current_stream.h"

namespace openreg {

// The communication stream is current. A future of device values is completed at once: whoever waits for it makes his
// stream wait for what is queued here.
Work::Work(c10::intrusive_ptr<ProcessGroup> group, std::shared_ptr<Operation> operation, const c10::Stream& stream)
    : c10d::Work(group->getRank(), operation->type), group_(std::move(group)), operation_(std::move(operation)),
      outputs_(std::move(operation_->outputs)),
      future_(
          c10::make_intrusive<c10::ivalue::Future>(
              c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{stream.device()})) {
  done_.record(stream);
  future_->markCompleted(c10::IValue(outputs_));
}

Work::~Work() = default;

bool Work::isCompleted() {
  return exception() != nullptr || done_.query();
}

bool Work::isSuccess() const {
  return exception() == nullptr && done_.query();
}

std::exception_ptr Work::exception() const {
  return group_->errorOf(*operation_);
}

// LITERALINCLUDE START: WORK WAIT
void Work::synchronize() {
  if (const auto error = exception()) {
    std::rethrow_exception(error);
  }
  done_.block(currentStream(operation_->device.index()));
}

bool Work::wait(std::chrono::milliseconds timeout) {
  synchronize();
  if (timeout != kNoTimeout) {
    group_->awaitReturn(*operation_, done_, timeout);
  }
  if (timeout != kNoTimeout || operation_->type == c10d::OpType::BARRIER) {
    done_.synchronize();
    synchronize(); // throws if it has failed
  }
  return true;
}
// LITERALINCLUDE END: WORK WAIT

void Work::abort() {
  group_->abort();
}

} // namespace openreg
