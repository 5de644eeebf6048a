// What a collective returns: the point in the communication stream where it is done.
#pragma once

#include "distributed/operation.h"

#include <ATen/core/ivalue.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: WORK
/**
 * @brief A collective that is queued. Any thread.
 *
 * wait() makes the current stream wait, not the host: but for a barrier, and where a timeout is given.
 */
class Work final : public c10d::Work {
 public:
  /** @brief Marks the place. `stream` is the communication stream, and current. */
  Work(c10::intrusive_ptr<ProcessGroup> group, std::shared_ptr<Operation> operation, const c10::Stream& stream);
  ~Work() override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override { return outputs_; }
  /** @brief Makes the current stream wait. @throws c10::DistBackendError if the collective is known to have failed. */
  void synchronize() override;
  /**
   * @brief synchronize(); of a barrier, or with a timeout, the host waits as well.
   * @throws c10::DistBackendError also if it is not done after `timeout`.
   */
  bool wait(std::chrono::milliseconds timeout) override;
  /** @brief Aborts the whole group: a collective that only some ranks leave can't be continued. */
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return operation_->number; }

 private:
  const c10::intrusive_ptr<ProcessGroup> group_;
  const std::shared_ptr<Operation> operation_;
  const std::vector<at::Tensor> outputs_;
  c10::Event done_{c10::DeviceType::PrivateUse1};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};
// LITERALINCLUDE END: WORK

} // namespace openreg
