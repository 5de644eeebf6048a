// One operation of a process group: what it moves between device and host, and what the ranks exchange in between.
#pragma once

#include "distributed/direct/announcement.h"

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace openreg {

class DirectQueue;
class ProcessGroup;

// LITERALINCLUDE START: OPERATION
/// What the ranks do between the hosts' memories. First they tell each other what they are about to do: Gloo ends the
/// process where sizes differ.
struct Exchange {
  /// Starts it. Called on a thread of the driver, and must not call the driver.
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(c10d::Backend& transport)>;

  Announcement announcement;
  Start start;
  int peer = -1; ///< The other rank of a send or receive; -1: all ranks take part.
  int tag = 0;
};

struct Operation;

/// What a function of the host is called with: it exchanges, or meets.
struct HostFunction {
  Operation& operation;
  bool meets = false;
  std::optional<Announcement> announcement; ///< What is said at the meeting.
};

/**
 * @brief One collective, or several that are coalesced. Filled by one thread, then queued; see ProcessGroup::launch().
 *
 * Its memory is pinned, so it is freed through the driver: never on the thread of a host function, which must not call
 * the driver. The group keeps each operation until its function has returned.
 */
struct Operation {
  using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>; // device, host

  Copies toHost;                               ///< First.
  std::vector<Exchange> exchanges;             ///< Then the ranks meet; several begin together.
  Copies toDevice;                             ///< Then what they have got goes back.
  std::vector<std::function<void()>> onDevice; ///< Then what the device does with it.
  std::vector<std::pair<Announcement, std::function<void(DirectQueue&)>>> direct; ///< Instead, or last: no host at all.

  /** @brief Host memory that holds the values of `tensor` when the exchange starts. */
  at::Tensor in(const at::Tensor& tensor);
  /** @brief Host memory whose values `tensor` has after the operation. */
  at::Tensor out(const at::Tensor& tensor);

  c10d::OpType type = c10d::OpType::UNKNOWN;
  c10::Device device{c10::kCPU};
  int64_t lane = 0; ///< Which of the group's streams.
  ProcessGroup* group = nullptr;
  uint64_t number = 0;
  std::vector<at::Tensor> inputs;    ///< Of direct collectives; dropped once it is queued.
  std::vector<at::Tensor> outputs;   ///< For the work's future; dropped with it.
  at::Tensor verdict;                ///< Of direct collectives, in pinned memory: -1 once one has failed.
  std::list<HostFunction> functions; ///< Of the host, in the order in which they run.
  std::exception_ptr error;          ///< Guarded by the group's mutex; so is what follows.
  size_t returned = 0;               ///< How many functions have.
  bool queued = false;               ///< Whether there will be no more of them.
};
// LITERALINCLUDE END: OPERATION

/** @brief Pinned host memory. Does not block. */
at::Tensor pinned(at::IntArrayRef sizes, at::ScalarType dtype);

/** @brief A view of `host` as bytes, for exchanges that only move: they serve every dtype. */
at::Tensor bytesOf(const at::Tensor& host);

} // namespace openreg
