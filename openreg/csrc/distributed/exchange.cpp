// What happens on the communication stream when its turn comes: the ranks meet, and what can go wrong does.
#include "distributed/process_group.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

namespace openreg {

namespace {

at::Tensor numbersOf(const Announcement& announcement) {
  const auto packed = announcement.pack();
  auto numbers = at::empty({static_cast<int64_t>(packed.size())}, at::kLong);
  std::copy(packed.begin(), packed.end(), numbers.mutable_data_ptr<int64_t>());
  return numbers;
}

Announcement announcementOf(const at::Tensor& numbers, int size) {
  return Announcement::unpack(numbers.const_data_ptr<int64_t>(), size);
}

void checkMessage(const Exchange& exchange, const Announcement& other, int rank) {
  const auto expected = exchange.announcement.expects[static_cast<size_t>(exchange.peer)];
  const auto sent = other.sends[static_cast<size_t>(rank)];
  TORCH_CHECK_WITH(
      DistBackendError, sent == expected, "the ranks disagree: rank ", exchange.peer, " sends ", sent, " bytes, rank ",
      rank, " expects ", expected, " bytes");
}

// LITERALINCLUDE START: POISON RESULTS
// What is copied back is 0xFF: NaN in floating-point types.
void poison(Operation& operation) {
  for (const auto& copy : operation.toDevice) {
    std::memset(copy.second.mutable_data_ptr(), 0xFF, copy.second.nbytes());
  }
  if (operation.verdict.defined()) {
    *operation.verdict.mutable_data_ptr<int64_t>() = -1;
  }
}
// LITERALINCLUDE END: POISON RESULTS

} // namespace

// LITERALINCLUDE START: EXCHANGE
// Runs on a thread of the driver, in the order of the communication stream. Must not call the driver, so it frees no
// tensor of device or pinned memory, and must not throw.
void ProcessGroup::run(HostFunction& function) noexcept {
  auto& operation = function.operation;
  std::exception_ptr cause;
  {
    const std::lock_guard lock(mutex_);
    cause = error_;
    ++running_;
  }
  if (!cause) {
    try {
      if (function.meets) {
        direct_->meeting().meet(function.announcement, options_->timeout);
      } else {
        exchange(operation);
      }
    } catch (...) {
      cause = describe(operation, std::current_exception());
    }
  }
  const std::lock_guard lock(mutex_);
  if (cause) {
    failLocked(cause);
    operation.error = operation.error ? operation.error : aborted_ ? error_ : cause;
    poison(operation);
  }
  --running_;
  ++operation.returned;
  returned_.notify_all();
}

void ProcessGroup::exchange(Operation& operation) {
  announceAll(operation);
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  works.reserve(operation.exchanges.size());
  for (const auto& exchange : operation.exchanges) {
    works.push_back(exchange.start(*transport_));
  }
  await(works);
}
// LITERALINCLUDE END: EXCHANGE

// LITERALINCLUDE START: ANNOUNCE
void ProcessGroup::announceAll(Operation& operation) {
  std::vector<at::Tensor> own;
  std::vector<std::vector<at::Tensor>> others;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (const auto& exchange : operation.exchanges) {
    auto& mine = own.emplace_back(numbersOf(exchange.announcement));
    auto& theirs = others.emplace_back();
    if (exchange.peer < 0) {
      for (int rank = 0; rank < getSize(); ++rank) {
        theirs.push_back(at::empty_like(mine));
      }
      std::vector<std::vector<at::Tensor>> outputs{theirs};
      std::vector<at::Tensor> inputs{mine};
      works.push_back(transport_->allgather(outputs, inputs, {}));
    } else if (exchange.announcement.type == c10d::OpType::SEND) {
      std::vector<at::Tensor> list{mine};
      works.push_back(transport_->send(list, exchange.peer, 2 * exchange.tag));
    } else {
      theirs.push_back(at::empty_like(mine));
      works.push_back(transport_->recv(theirs, exchange.peer, 2 * exchange.tag));
    }
  }
  await(works);
  for (size_t i = 0; i < others.size(); ++i) {
    std::vector<Announcement> all;
    for (const auto& numbers : others[i]) {
      all.push_back(announcementOf(numbers, getSize()));
    }
    if (operation.exchanges[i].peer < 0) {
      checkAgreement(all);
    } else if (!all.empty()) {
      checkMessage(operation.exchanges[i], all[0], getRank());
    }
  }
}
// LITERALINCLUDE END: ANNOUNCE

// LITERALINCLUDE START: AWAIT
// Work::wait() of the transport cannot be interrupted, unless it is a send or receive: these have no future.
void ProcessGroup::await(const std::vector<c10::intrusive_ptr<c10d::Work>>& works) {
  for (const auto& work : works) {
    if (c10d::isP2POp(work->retrieveOpType())) {
      awaitInterruptible(*work);
      continue;
    }
    const auto future = work->getFuture();
    future->addCallback([signal = signal_](c10::ivalue::Future&) {
      const std::lock_guard lock(signal->mutex);
      signal->returned.notify_all();
    });
    {
      std::unique_lock lock(mutex_);
      returned_.wait(lock, [&] { return future->completed() || aborted_; });
      if (!future->completed()) {
        abandoned_ = true;
        std::rethrow_exception(error_);
      }
    }
    work->wait(); // throws if it has failed
  }
}
// LITERALINCLUDE END: AWAIT

void ProcessGroup::awaitInterruptible(c10d::Work& work) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) {
      work.abort();
    }
    interruptible_.push_back(&work);
  }
  const auto forget = [&] {
    const std::lock_guard lock(mutex_);
    interruptible_.remove(&work);
  };
  try {
    TORCH_CHECK_WITH(DistBackendError, work.wait(), "aborted");
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

} // namespace openreg
