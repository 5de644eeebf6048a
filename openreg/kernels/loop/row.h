// Operations on rows of elements, in arrays of the type that is computed in.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/loop/elementwise_loop.h"
#include "kernels/loop/row_of_elements.h"
#include "kernels/reduction/dot.h"
#include "kernels/reduction/reduce_loop.h"

namespace openreg::kernels {

/// Rows as arrays of what is computed in: used where they are if they are that already, and else in a room of the
/// thread's own, which is made when it is first asked for.
template <class C>
class RowRoom {
 public:
  /// A row, to be read.
  const C* read(const RowOfElements& row) {
    if (row.isArray<C>()) {
      return static_cast<const C*>(row.data);
    }
    load(row.dtype, static_cast<const char*>(row.data), row.stride, row.count, of(row.count));
    return elements_.data();
  }

  /// Where a row is to be written, before wrote().
  C* write(const RowOfElements& row) { return row.isArray<C>() ? static_cast<C*>(row.data) : of(row.count); }
  void wrote(const RowOfElements& row) const {
    if (!row.isArray<C>()) {
      store(row.dtype, static_cast<char*>(row.data), row.stride, row.count, elements_.data());
    }
  }

 private:
  C* of(int64_t count) {
    elements_.resize(std::max(elements_.size(), static_cast<size_t>(count)));
    return elements_.data();
  }

  std::vector<C> elements_;
};

/// Calls `use(i)` for each element of a row, with others at the same time.
template <class Use>
void forEachOfRow(int64_t count, Use use) {
  for (int64_t i = 0; i < count; ++i) {
    use(i);
  }
}

/// A row will be read soon: what of it is not in the cache may be on its way till then.
template <class C>
void prefetchRow(const C* row, int64_t count) {
  constexpr int64_t kCacheLine = 64;
  for (int64_t i = 0; i < count; i += kCacheLine / static_cast<int64_t>(sizeof(C))) {
    __builtin_prefetch(row + i);
  }
}

/// Calls `use()` in one of the threads that do a row together: for what is read and then written anew.
template <class Use>
void onceARow(Use use) {
  use();
}

/// What a functor of a reduction makes of a row.
template <class F, class C>
StateOf<F> reduceRow(F functor, int64_t count, const C* row) {
  return stateOfRun(functor, row, count, 0);
}

/// What a functor with `step(state, i)` makes of the numbers [begin, end).
template <class F>
StateOf<F> reduceIndices(const F& functor, int64_t begin, int64_t end) {
  auto state = functor.start();
  for (int64_t i = begin; i < end; ++i) {
    state = functor.step(state, i);
  }
  return state;
}

/// The same of `map` of each element, which is kept nowhere.
template <class F, class M, class C>
StateOf<F> reduceMapped(F functor, M map, int64_t count, const C* row) {
  auto state = functor.start();
  C mapped[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t part = std::min(kBlock, count - at);
    apply(map, part, mapped, row + at);
    state = functor.join(state, stateOfRun(functor, static_cast<const C*>(mapped), part, at));
  }
  return state;
}

/// `map` of each element, for use more than once: in `room`, which may be where the row's result comes.
template <class M, class C>
const C* mapRow(M map, int64_t count, C* room, const C* row) {
  apply(map, count, room, row);
  return room;
}

/// Puts in place of each number of a row the sum of those before it, and behind the last one the sum of all.
inline void sumBefore(int64_t* row, int64_t count) {
  int64_t before = 0;
  for (int64_t i = 0; i < count; ++i) {
    before += std::exchange(row[i], before);
  }
  row[count] = before;
}

} // namespace openreg::kernels
