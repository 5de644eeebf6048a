// Operations on rows of elements on a GPU. All threads of a block call them with the same row. Element i is always the
// same thread's, so one operation may read what the one before it has written.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/loop/block.h"
#include "kernels/loop/row_of_elements.h"
#include "kernels/reduction/accumulator.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// A row as numbers of type C: they are converted when they are read and written.
template <class C>
struct Row {
  RowOfElements elements;

  C operator[](int64_t i) const {
    return elements.dtype == kDTypeOf<C> ? *static_cast<const C*>(at(i)) : loadOne<C>(elements.dtype, at(i));
  }
  void set(int64_t i, C value) const {
    if (elements.dtype == kDTypeOf<C>) {
      *static_cast<C*>(at(i)) = value;
    } else {
      storeOne<C>(elements.dtype, at(i), value);
    }
  }

 private:
  void* at(int64_t i) const { return static_cast<char*>(elements.data) + i * elements.stride; }
};

/// Writes an element of a row.
template <class C>
void put(const Row<C>& row, int64_t i, C value) {
  row.set(i, value);
}
template <class R, class C>
void put(const R& row, int64_t i, C value) {
  row[i] = value;
}

/// What a row's elements are.
template <class R>
using ElementOf = std::remove_cvref_t<decltype(std::declval<const R&>()[0])>;

/// Calls `use(i)` for each element of a row, each in one of the block's threads.
template <class Use>
void forEachOfRow(int64_t count, Use use) {
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    use(i);
  }
}

/// A row will be read soon. Other blocks work meanwhile: there is nothing to do.
template <class C>
void prefetchRow(const C* /*row*/, int64_t /*count*/) {}

/// Calls `use()` in one thread of the block: for what is read and then written anew.
template <class Use>
void onceARow(Use use) {
  if (threadIdx.x == 0) {
    use();
  }
}

/// A function of each element of a row, computed when it is read.
template <class M, class R>
struct MappedRow {
  M map;
  R row;
  auto operator[](int64_t i) const { return map(row[i]); }
};

/// The products of two rows' elements.
template <class R, class S>
struct ProductOfRows {
  R a;
  S b;
  auto operator[](int64_t i) const { return a[i] * b[i]; }
};

/// Rows need no room.
template <class C>
struct RowRoom {
  Row<C> read(const RowOfElements& row) const { return {row}; }
  Row<C> write(const RowOfElements& row) const { return {row}; }
  void wrote(const RowOfElements& /*row*/) const {}
};

// LITERALINCLUDE START: GPU ROW
/// out = functor(in...), element by element.
template <class F, class C, class... R>
void apply(F functor, int64_t count, Row<C> out, const R&... in) {
  forEachOfRow(count, [&](int64_t i) { out.set(i, functor(in[i]...)); });
}

/// The states of all threads of a block, joined: every thread has the result. Of several `columns`, a power of two that
/// lie side by side, each is joined by itself: every thread has that of its own.
template <class F, class State>
State joinThreads(const F& functor, const State& mine, int columns = 1) {
  alignas(State) __shared__ char shared[kThreads * sizeof(State)];
  auto* states = reinterpret_cast<State*>(shared);
  const int me = static_cast<int>(threadIdx.x);
  states[me] = mine;
  __syncthreads();
  for (int left = kThreads / 2; left >= columns; left /= 2) {
    if (me < left) {
      states[me] = functor.join(states[me], states[me + left]);
    }
    __syncthreads();
  }
  const State joined = states[me % columns];
  __syncthreads(); // before others take the place of these
  return joined;
}

/// What a functor of a reduction makes of a row.
template <class F, class R>
StateOf<F> reduceRow(F functor, int64_t count, const R& row) {
  auto state = functor.start();
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    state = functor.step(state, row[i], i);
  }
  return joinThreads(functor, state);
}
// LITERALINCLUDE END: GPU ROW

/// What the threads of a block before this one have, joined in their order, and what all of them have.
template <class State>
struct JoinedBefore {
  State before;
  State all;
};
template <class F, class State>
JoinedBefore<State> joinThreadsBefore(const F& functor, const State& mine) {
  alignas(State) __shared__ char shared[kThreads * sizeof(State)];
  auto* states = reinterpret_cast<State*>(shared);
  const int me = static_cast<int>(threadIdx.x);
  states[me] = mine;
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const State before = states[me < distance ? me : me - distance];
    __syncthreads();
    if (me >= distance) {
      states[me] = functor.join(before, states[me]);
    }
    __syncthreads();
  }
  const JoinedBefore<State> joined{me == 0 ? functor.start() : states[me - 1], states[kThreads - 1]};
  __syncthreads(); // before others take the place of these
  return joined;
}

/// What a functor with `step(state, i)` makes of the numbers [begin, end).
template <class F>
StateOf<F> reduceIndices(const F& functor, int64_t begin, int64_t end) {
  auto state = functor.start();
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    state = functor.step(state, i);
  }
  return joinThreads(functor, state);
}

/// The same of `map` of each element.
template <class F, class M, class R>
StateOf<F> reduceMapped(F functor, M map, int64_t count, const R& row) {
  return reduceRow(functor, count, MappedRow<M, R>{map, row});
}

/// `map` of each element, for use more than once.
template <class M, class C, class R>
MappedRow<M, R> mapRow(M map, int64_t /*count*/, const Row<C>& /*room*/, const R& row) {
  return {map, row};
}

/// A sum in type S.
template <class S>
struct SumIn {
  S start() const { return S(0); }
  template <class C>
  S step(S sum, C x, int64_t) const {
    return sum + S(x);
  }
  S join(S a, S b) const { return a + b; }
};

/// Σ a · b
template <class R, class S, class C = ElementOf<R>>
C dot(int64_t count, const R& a, const S& b) {
  return C(reduceRow(SumIn<Accumulator<C>>(), count, ProductOfRows<R, S>{a, b}));
}

/// Puts in place of each number of a row the sum of those before it, and behind the last one the sum of all.
inline void sumBefore(int64_t* row, int64_t count) {
  int64_t before = 0;
  for (int64_t first = 0; first < count; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const auto sums = joinThreadsBefore(SumIn<int64_t>(), i < count ? row[i] : 0);
    if (i < count) {
      row[i] = before + sums.before;
    }
    before += sums.all;
  }
  onceARow([&] { row[count] = before; });
}

} // namespace openreg::kernels
