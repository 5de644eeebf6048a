// A barrier in shared memory.
#include "distributed/direct/meeting.h"

#include <c10/util/Exception.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace openreg {

namespace {

constexpr size_t kLine = 64;                          // no two ranks write into one line of the cache
constexpr auto kLook = std::chrono::milliseconds(50); // how often one who waits looks whether the others still live

// Sleeps until somebody has changed the number since it was `seen`, for kLook at most.
void sleepWhile(std::atomic<uint32_t>& changes, uint32_t seen) {
  const timespec limit{0, std::chrono::nanoseconds(kLook).count()};
  (void)syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wakeAll(std::atomic<uint32_t>& changes) {
  changes.fetch_add(1);
  (void)syscall(SYS_futex, reinterpret_cast<uint32_t*>(&changes), FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

} // namespace

struct Meeting::Seat {
  std::atomic<uint64_t> arrived; ///< Meetings that the rank has come to.
  std::atomic<uint32_t> gone;    ///< It comes no more.
};

Meeting::Meeting(SharedPage page, int rank, std::vector<int> processes)
    : page_(std::move(page)), rank_(rank), processes_(processes.begin(), processes.end()) {}

// The number that changes; then a line for each rank; then what the ranks announce, for two meetings in turn: one who
// reads what was said in a meeting has not come to the next but one, and so nobody writes over it.
size_t Meeting::pageBytes(int size) {
  const auto ranks = static_cast<size_t>(size);
  return kLine * (1 + ranks) + 2 * ranks * sizeof(int64_t) * static_cast<size_t>(Announcement::length(size));
}

std::atomic<uint32_t>& Meeting::changes() const {
  return *reinterpret_cast<std::atomic<uint32_t>*>(page_.begin());
}

Meeting::Seat& Meeting::seat(int rank) const {
  return *reinterpret_cast<Seat*>(page_.begin() + kLine * (1 + static_cast<size_t>(rank)));
}

int64_t* Meeting::announced(int rank, uint64_t number) const {
  const auto ranks = processes_.size();
  const auto place = 2 * static_cast<size_t>(rank) + number % 2;
  return reinterpret_cast<int64_t*>(page_.begin() + kLine * (1 + ranks)) +
         place * static_cast<size_t>(Announcement::length(static_cast<int>(ranks)));
}

bool Meeting::isComplete() const {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (seat(rank).arrived.load() < number_) {
      return false;
    }
  }
  return true;
}

void Meeting::checkOthers() const {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (seat(rank).arrived.load() < number_) {
      const auto& process = processes_[static_cast<size_t>(rank)];
      TORCH_CHECK_WITH(
          DistBackendError, seat(rank).gone.load() == 0, "rank ", rank,
          rank == rank_ ? " was told to leave the group" : " has left the group, or has failed");
      TORCH_CHECK_WITH(
          DistBackendError, rank == rank_ || !process.hasEnded(), "rank ", rank, " (process ", process.number(),
          ") has ended");
    }
  }
  TORCH_CHECK_WITH(DistBackendError, seat(rank_).gone.load() == 0, "rank ", rank_, " was told to leave the group");
}

// LITERALINCLUDE START: MEET
void Meeting::meet(const std::optional<Announcement>& mine, std::chrono::milliseconds timeout) {
  const auto size = static_cast<int>(processes_.size());
  ++number_;
  if (mine) {
    const auto packed = mine->pack();
    std::copy(packed.begin(), packed.end(), announced(rank_, number_));
  }
  seat(rank_).arrived.store(number_);
  wakeAll(changes());
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto seen = changes().load(); // before looking: a change in between ends the sleep at once
    if (isComplete()) {
      break;
    }
    checkOthers();
    TORCH_CHECK_WITH(
        DistBackendError, std::chrono::steady_clock::now() < deadline, "Timed out waiting ", timeout.count(),
        "ms for the other ranks");
    sleepWhile(changes(), seen);
  }
  if (mine) {
    std::vector<Announcement> all;
    all.reserve(processes_.size());
    for (int rank = 0; rank < size; ++rank) {
      all.push_back(Announcement::unpack(announced(rank, number_), size));
    }
    checkAgreement(all);
  }
}
// LITERALINCLUDE END: MEET

void Meeting::leave() noexcept {
  seat(rank_).gone.store(1);
  wakeAll(changes());
}

} // namespace openreg
