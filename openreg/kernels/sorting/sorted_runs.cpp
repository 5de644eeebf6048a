// The kernels "sort_runs" and "merge_runs": each element finds its place by itself, so that a device with very many
// threads sorts in a few launches.
#include "kernels/sorting/sorted_runs.h"

#include <algorithm>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/sorting/order_key.h"

namespace openreg::kernels {

namespace {

/// A loop over the elements of all rows.
class RunsLoop : public LoopOver<SortedRunsArgs> {
 public:
  static const char* refusal(const SortedRunsArgs& args) {
    return withElementType(elementSize(args.dtype), [](auto) {}) ? nullptr : "dtype is of no size that is moved";
  }
  using LoopOver::LoopOver;
  int64_t count() const { return args_.rows * args_.size; }

 protected:
  uint64_t key(int64_t element) const {
    const uint64_t key = orderKeyOf(args_.dtype, static_cast<const char*>(args_.in) + element * size_);
    return args_.descending != 0 ? ~key : key;
  }

  void put(int64_t to, int64_t from, int64_t index) const {
    withElementType(
        size_, [&]<class T>(T) { static_cast<T*>(args_.values)[to] = static_cast<const T*>(args_.in)[from]; });
    args_.indices[to] = index;
  }

 private:
  int64_t size_ = elementSize(args_.dtype);
};

/// An element's place in its run is the number of those that come before it.
class SortRuns : public RunsLoop {
 public:
  using RunsLoop::RunsLoop;
  int64_t grain() const { return grainOfRows(kSortedRun); }

  void operator()(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / args_.size * args_.size;
      const int64_t first = row + (i - row) / kSortedRun * kSortedRun;
      const int64_t last = std::min(first + kSortedRun, row + args_.size);
      const uint64_t mine = key(i);
      int64_t to = first;
      for (int64_t other = first; other < last; ++other) {
        const uint64_t its = key(other);
        to += its < mine || (its == mine && other < i) ? 1 : 0;
      }
      put(to, i, i - row);
    }
  }
};

/// An element's place in two runs together is its place in its own, and the number of those in the other one that come
/// before it: a search finds it, for that run is in order.
class MergeRuns : public RunsLoop {
 public:
  using RunsLoop::RunsLoop;

  void operator()(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / args_.size * args_.size;
      const int64_t last = row + args_.size;
      const int64_t first = row + (i - row) / (2 * args_.run) * (2 * args_.run);
      const int64_t second = std::min(first + args_.run, last);
      const bool isInFirst = i < second;
      const int64_t before = isInFirst ? countBefore(second, std::min(second + args_.run, last), i, false)
                                       : countBefore(first, second, i, true);
      put((isInFirst ? i : i - (second - first)) + before, i, args_.inIndex[i]);
    }
  }

 private:
  /// How many elements of a run come before another one. @param evenEqual Those that are equal come before it, too.
  int64_t countBefore(int64_t begin, int64_t end, int64_t element, bool evenEqual) const {
    const uint64_t its = key(element);
    const int64_t first = begin;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      const uint64_t found = key(middle);
      const bool isBefore = found < its || (evenEqual && found == its);
      begin = isBefore ? middle + 1 : begin;
      end = isBefore ? end : middle;
    }
    return begin - first;
  }
};

const Loop<"sort_runs", SortedRunsArgs, SortRuns> kSort;
const Loop<"merge_runs", SortedRunsArgs, MergeRuns> kMerge;

} // namespace

} // namespace openreg::kernels
