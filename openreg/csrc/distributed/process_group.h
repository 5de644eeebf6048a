// The c10d backend "occl": collectives of openreg tensors.
#pragma once

#include "distributed/direct/direct.h"
#include "distributed/work.h"

#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace openreg {

/**
 * @brief A process group of one device of this process. Any thread, if all ranks call in the same order.
 *
 * A collective is queued and the host goes on. On a communication stream of the group's own, behind the work of the
 * current stream, these follow each other: copies to pinned memory, a host function in which the ranks exchange that
 * memory, copies back. The host function blocks its stream and nobody else: the contract says that functions of
 * different streams don't wait for each other.
 *
 * An exchange that fails leaves 0xFF in the results (NaN in floating-point types), and the group refuses everything
 * after it.
 */
class C10_EXPORT ProcessGroup final : public c10d::Backend {
 public:
  /// Makes a backend of CPU tensors. Its arguments are this class's own.
  using Connect = c10::intrusive_ptr<c10d::Backend> (*)(
      const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, const c10::intrusive_ptr<Options>& options);

  /**
   * @brief Blocks until all ranks are connected with each other.
   * @param connect Gloo's constructor, which is in no header that PyTorch ships.
   * @throws c10::ValueError if the environment's `OCCL_TRANSPORT` names no way that there is.
   * @throws c10::DistBackendError if a rank isn't connected before the timeout of `options`.
   */
  ProcessGroup(
      Connect connect,
      const c10::intrusive_ptr<c10d::Store>& store,
      int rank,
      int size,
      c10::intrusive_ptr<Options> options);
  ~ProcessGroup() override;

  const std::string getBackendName() const override { return "occl"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  c10::intrusive_ptr<c10d::Work> endCoalescing() override;
  /** @brief A group of some of the ranks; null on the others. Blocks until they have met. */
  c10::intrusive_ptr<c10d::Backend> split(
      const c10::intrusive_ptr<c10d::Store>& store,
      const std::vector<int>& ranks,
      const c10::intrusive_ptr<Options>& options) override;
  /** @brief Finds out whether values can go directly between the ranks' devices. Blocks until the ranks have met. */
  void eagerConnectSingleDevice(at::Device device) override;
  /** @brief Which way collectives go: "direct", or "staged" through the host. It is decided once. */
  const char* transport() const { return direct_ != nullptr ? "direct" : "staged"; }
  /** @brief Why not directly; empty if they do. */
  const std::string& transportReason() const { return whyStaged_; }
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override;
  c10d::ErrorType getError() override;

  /** @brief Blocks until everything queued is done. */
  void shutdown() override;
  /** @brief Ends what is running and drops what is queued; the group refuses everything after it. Does not block. */
  void abort() override;

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>&, const c10d::BroadcastOptions&) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  allreduce_coalesced(std::vector<at::Tensor>&, const c10d::AllreduceCoalescedOptions&) override;
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor>&, const c10d::ReduceOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  allgather(std::vector<std::vector<at::Tensor>>&, std::vector<at::Tensor>&, const c10d::AllgatherOptions&) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor&, at::Tensor&, const c10d::AllgatherOptions&) override;
  c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(
      std::vector<at::Tensor>&, std::vector<at::Tensor>&, const c10d::AllgatherOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  gather(std::vector<std::vector<at::Tensor>>&, std::vector<at::Tensor>&, const c10d::GatherOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  scatter(std::vector<at::Tensor>&, std::vector<std::vector<at::Tensor>>&, const c10d::ScatterOptions&) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter(
      std::vector<at::Tensor>&, std::vector<std::vector<at::Tensor>>&, const c10d::ReduceScatterOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  _reduce_scatter_base(at::Tensor&, at::Tensor&, const c10d::ReduceScatterOptions&) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(
      std::vector<at::Tensor>&, std::vector<at::Tensor>&, const c10d::ReduceScatterOptions&) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(
      at::Tensor&, at::Tensor&, std::vector<int64_t>&, std::vector<int64_t>&, const c10d::AllToAllOptions&) override;
  c10::intrusive_ptr<c10d::Work>
  alltoall(std::vector<at::Tensor>&, std::vector<at::Tensor>&, const c10d::AllToAllOptions&) override;
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>&, int, int) override;
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>&, int, int) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions&) override;

  // For Work.
  std::exception_ptr errorOf(const Operation& operation) const;
  void awaitReturn(const Operation& operation, const c10::Event& done, std::chrono::milliseconds timeout);

  // For DirectQueue: a function that meets, on the communication stream, which is current.
  void queueMeeting(Operation& operation, std::optional<Announcement> announcement);

 private:
  // What a collective is made of.
  std::shared_ptr<Operation> operation(c10d::OpType type, c10::Device device, int64_t lane = 0);
  Announcement announce(c10d::OpType type, int64_t sends, int64_t expects) const;
  Announcement announceReduction(c10d::OpType type, const at::Tensor& result, const c10d::ReduceOp& reduceOp) const;
  c10::intrusive_ptr<c10d::Work> add(const std::shared_ptr<Operation>& operation, Exchange exchange);
  c10::intrusive_ptr<c10d::Work> addDirect(
      const std::shared_ptr<Operation>& operation, Announcement announcement, std::function<void(DirectQueue&)> queue);
  c10::intrusive_ptr<c10d::Work> launch(const std::shared_ptr<Operation>& operation);
  void queueStaged(Operation& operation, const c10::Stream& stream);
  void queueDirect(Operation& operation, const c10::Stream& stream);
  void queueFunction(HostFunction& function, const c10::Stream& stream);
  template <class F>
  c10::intrusive_ptr<c10d::Work> coalesced(F&& each);
  at::Tensor
  reduced(Operation& operation, c10d::ReduceOp& reduceOp, const at::Tensor& tensor, const at::Tensor& result);
  c10::Stream stream(c10::Device device, int64_t lane);
  c10::Device barrierDevice(const c10d::BarrierOptions& opts);

  // On a thread of the driver.
  void run(HostFunction& function) noexcept;
  void exchange(Operation& operation);
  void announceAll(Operation& operation);
  void await(const std::vector<c10::intrusive_ptr<c10d::Work>>& works);
  void awaitInterruptible(c10d::Work& work);

  void refuseAfterError() const;
  void failLocked(const std::exception_ptr& error);
  std::string nameOfGroup() const;
  std::exception_ptr describe(const Operation& operation, const std::exception_ptr& cause) const;

  const Connect connect_;
  const std::string asked_; // before the ranks meet: who asks for a way that does not exist meets nobody
  const c10::intrusive_ptr<c10d::Store> keys_; // the group's own
  const c10::intrusive_ptr<Options> options_;
  c10::intrusive_ptr<c10d::Backend> transport_;
  std::optional<c10::Device> boundTo_;
  std::unique_ptr<Direct> direct_; // null: everything goes through the transport
  std::string whyStaged_ = "the group was made without device_id";

  /// What wakes who waits for an exchange. The transport's threads have it too, and may outlive the group.
  struct Signal {
    std::mutex mutex;
    std::condition_variable returned;
  };

  std::mutex order_; // held while an operation is queued; may be held for long
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::mutex& mutex_ = signal_->mutex; // guards what follows; nobody waits for the device under it
  std::condition_variable& returned_ = signal_->returned;
  std::list<std::shared_ptr<Operation>> queued_;
  std::map<int64_t, c10::Stream> streams_;
  std::optional<c10::Device> device_;
  std::shared_ptr<Operation> coalescing_;
  uint64_t count_ = 0;
  std::exception_ptr error_; // the first
  std::list<c10d::Work*> interruptible_;
  int running_ = 0; // functions that have not returned
  bool aborted_ = false;
  bool abandoned_ = false; // the transport has threads that still wait for other ranks
};

} // namespace openreg
