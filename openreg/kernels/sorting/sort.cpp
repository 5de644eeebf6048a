// The kernels "sort" and "topk".
#include "kernels/sorting/places.h"

#include <array>
#include <limits>
#include <span>
#include <utility>

namespace openreg::kernels {

namespace {

/// Rows at least this long are sorted by digits.
constexpr size_t kRadixSize = 256;

/// Rows longer than this are not: positions are counted in 32 bits.
constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();

/// Sorts by one digit of the key after the other, the lowest first. Digits that all keys share cost a look only.
template <int bits, class P>
void radixSort(std::vector<P>& places, std::vector<P>& other) {
  using Key = decltype(P::key);
  constexpr size_t kValues = size_t{1} << bits;
  constexpr int kDigits = (sizeof(Key) * 8 + bits - 1) / bits;
  Key differ = 0;
  std::vector<std::array<uint32_t, kValues>> counts(kDigits); // of each digit at once: the keys are read one time less
  for (const P& place : places) {
    differ |= place.key ^ places[0].key;
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counts[digit][place.key >> (digit * bits) & (kValues - 1)];
    }
  }
  other.resize(places.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    const int shift = digit * bits;
    if ((differ >> shift & (kValues - 1)) == 0) {
      continue;
    }
    auto& at = counts[digit];
    uint32_t before = 0;
    for (uint32_t& count : at) {
      before += std::exchange(count, before);
    }
    for (const P& place : places) {
      other[at[place.key >> shift & (kValues - 1)]++] = place;
    }
    places.swap(other);
  }
}

/// Wide digits are fewer, but their counts cost more than they save in short rows.
template <class P>
void radixSort(std::vector<P>& places, std::vector<P>& other) {
  constexpr size_t kLong = size_t{1} << 15;
  places.size() >= kLong ? radixSort<11>(places, other) : radixSort<8>(places, other);
}

/// A row whose elements have short keys, in one thread's memory for such rows.
void sortShort(const SortArgs& args, int64_t row, ShortRows& rows) {
  const auto* in = static_cast<const char*>(args.in) + row * args.size * elementSize(args.dtype);
  const uint32_t flip = args.descending != 0 ? ~uint32_t{0} : 0;
  rows.places.resize(static_cast<size_t>(args.size));
  forEachShortKey(args.dtype, in, args.size, [&](int64_t i, uint32_t key) {
    rows.places[static_cast<size_t>(i)] = {key ^ flip, static_cast<uint32_t>(i)};
  });
  radixSort(rows.places, rows.other);
  putResults(args, row, rows.places.data());
}

/// A row of 64-bit integers that lie close together, as class numbers and positions do: less the smallest, they are
/// short keys, and the keys are the values again.
/// @return Whether it was one; if not, nothing has happened.
bool sortClose(const SortArgs& args, int64_t row, ShortRows& rows) {
  if (isFloating(args.dtype)) {
    return false;
  }
  const std::span in(static_cast<const uint64_t*>(args.in) + row * args.size, static_cast<size_t>(args.size));
  const uint64_t sign = args.dtype == DType::UInt64 ? 0 : kSignBit;
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  for (const uint64_t value : in) {
    least = std::min(least, value ^ sign);
    most = std::max(most, value ^ sign);
  }
  if (most - least > std::numeric_limits<uint32_t>::max()) {
    return false;
  }
  const uint32_t flip = args.descending != 0 ? ~uint32_t{0} : 0;
  rows.places.resize(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    rows.places[i] = {static_cast<uint32_t>((in[i] ^ sign) - least) ^ flip, static_cast<uint32_t>(i)};
  }
  radixSort(rows.places, rows.other);
  auto* values = static_cast<uint64_t*>(args.values) + row * args.size;
  auto* indices = args.indices + row * args.size;
  for (size_t i = 0; i < in.size(); ++i) {
    values[i] = (least + (rows.places[i].key ^ flip)) ^ sign;
    indices[i] = rows.places[i].index;
  }
  return true;
}

void sortByDigits(const SortArgs& args, int64_t row, Rows& rows) {
  if (elementSize(args.dtype) <= 4) {
    sortShort(args, row, rows.inShort);
  } else if (!sortClose(args, row, rows.inShort)) {
    rows.load(args, row);
    radixSort(rows.places, rows.other);
    putResults(args, row, rows.places.data());
  }
}

struct Sort {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      const auto size = static_cast<uint64_t>(args.size);
      if (size >= kRadixSize && size <= kMost) {
        return sortByDigits(args, row, rows);
      }
      rows.load(args, row);
      std::sort(rows.places.begin(), rows.places.end());
      putResults(args, row, rows.places.data());
    });
  }
};

struct Topk {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      constexpr int64_t kMuchLonger = 64;
      rows.load(args, row);
      auto& places = rows.places;
      const auto last = places.begin() + args.kept;
      if (args.kept * kMuchLonger <= args.size) {
        std::partial_sort(places.begin(), last, places.end(), lessByKey);
      } else {
        std::nth_element(places.begin(), last - 1, places.end(), lessByKey);
        if (args.sorted != 0) {
          std::sort(places.begin(), last - 1, lessByKey);
        }
      }
      putResults(args, row, places.data());
    });
  }
};

const Register<"sort", SortArgs, Sort> kSort;
const Register<"topk", SortArgs, Topk> kTopk;

} // namespace

} // namespace openreg::kernels
