// Rows of elements as keys with their places: what the kernels that sort have in common.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/sorting/order_key.h"
#include "kernels/sorting/sort.h"

namespace openreg::kernels {

/// An element. Elements of one key keep their order.
struct Place {
  uint64_t key;
  int64_t index;

  friend bool operator<(const Place& a, const Place& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }
};

/// The same in half the room: for keys of at most 32 bits, in rows that such numbers count.
struct ShortPlace {
  uint32_t key;
  uint32_t index;
};

/// Which of equal elements are found is left open where this is used: then the standard library chooses those that it
/// chooses in PyTorch's kernels for the CPU.
inline bool lessByKey(const Place& a, const Place& b) {
  return a.key < b.key;
}

/// One thread's memory for rows of short keys.
struct ShortRows {
  std::vector<ShortPlace> places;
  std::vector<ShortPlace> other; ///< Room for sorting.
};

/// One thread's memory for rows.
struct Rows {
  std::vector<uint64_t> keys;
  std::vector<Place> places;
  std::vector<Place> other; ///< Room for sorting.
  ShortRows inShort;

  void load(const SortArgs& args, int64_t row) {
    const int64_t size = elementSize(args.dtype);
    keys.resize(static_cast<size_t>(args.size));
    places.resize(keys.size());
    loadKeys(args.dtype, static_cast<const char*>(args.in) + row * args.size * size, size, args.size, keys.data());
    const uint64_t flip = args.descending != 0 ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      places[i] = {keys[i] ^ flip, static_cast<int64_t>(i)};
    }
  }
};

/// Calls `use(args, row, rows)` for each row.
template <class Use>
void forEachRow(const SortArgs& args, orKernelContext& context, Use) {
  static_assert(std::is_empty_v<Use>);
  context.parallelFor(
      &context, args.rows, std::max(int64_t{1}, kGrain / 16 / std::max(int64_t{1}, args.size)),
      [](void* state, int64_t begin, int64_t end) {
        const auto& args = *static_cast<const SortArgs*>(state);
        Rows rows;
        for (int64_t row = begin; row < end; ++row) {
          Use{}(args, row, rows);
        }
      },
      const_cast<SortArgs*>(&args));
}

/// Writes the values and places of a row's results.
template <class P>
void putResults(const SortArgs& args, int64_t row, const P* results) {
  const int64_t size = elementSize(args.dtype);
  const auto* in = static_cast<const char*>(args.in) + row * args.size * size;
  auto* values = static_cast<char*>(args.values) + row * args.kept * size;
  for (int64_t i = 0; i < args.kept; ++i) {
    args.indices[row * args.kept + i] = static_cast<int64_t>(results[i].index);
  }
  withElementType(size, [&]<class T>(T) {
    for (int64_t i = 0; i < args.kept; ++i) {
      const auto from = static_cast<int64_t>(results[i].index) * static_cast<int64_t>(sizeof(T));
      std::memcpy(values + i * static_cast<int64_t>(sizeof(T)), in + from, sizeof(T));
    }
  });
}

} // namespace openreg::kernels
