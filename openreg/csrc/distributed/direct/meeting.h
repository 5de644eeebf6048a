// Where the ranks of a group on one machine meet: a page of memory that all of them share. No process serves it.
#pragma once

#include "distributed/direct/announcement.h"
#include "distributed/direct/shared_page.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

namespace openreg {

// LITERALINCLUDE START: MEETING
/**
 * @brief A barrier in shared memory. It sleeps while it waits, notices ranks that have ended, and can be called off.
 *
 * meet() is for host functions: it calls nothing of the driver. One thread of each rank meets at a time.
 */
class Meeting {
 public:
  /**
   * @param page Memory of pageBytes(), the same in all ranks, which was zero at first.
   * @param processes The process of each rank, on this machine.
   */
  Meeting(SharedPage page, int rank, std::vector<int> processes);

  /**
   * @brief Comes to the next meeting, and returns when all ranks have.
   * @param mine What this rank is about to do; all ranks give one, or none does.
   * @throws c10::DistBackendError if the ranks disagree, one has ended or given up, or `timeout` is over.
   */
  void meet(const std::optional<Announcement>& mine, std::chrono::milliseconds timeout);

  /** @brief Tells the other ranks that this one comes no more; who waits in meet() here leaves, too. Any thread. */
  void leave() noexcept;

  /** @brief Bytes that a group of `size` ranks needs. */
  static size_t pageBytes(int size);

 private:
  struct Seat; // what a rank writes

  Seat& seat(int rank) const;
  std::atomic<uint32_t>& changes() const;
  int64_t* announced(int rank, uint64_t number) const;
  bool isComplete() const;
  void checkOthers() const;

  const SharedPage page_;
  const int rank_;
  const std::vector<OpenProcess> processes_;
  uint64_t number_ = 0; // of the latest meeting
};
// LITERALINCLUDE END: MEETING

} // namespace openreg
