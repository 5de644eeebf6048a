// The kernels "sort" and "topk".
#include "kernels/sorting/places.h"

#include <utility>

namespace openreg::kernels {

namespace {

/// Rows at least this long are sorted by digits.
constexpr size_t kRadixSize = 256;

/// Sorts by one byte of the key after the other, the lowest first. Bytes that all keys share cost a look only.
void radixSort(std::vector<Place>& places, std::vector<Place>& other) {
  uint64_t differ = 0;
  for (const Place& place : places) {
    differ |= place.key ^ places[0].key;
  }
  other.resize(places.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differ >> shift & 0xFF) == 0) {
      continue;
    }
    size_t at[256] = {};
    for (const Place& place : places) {
      ++at[place.key >> shift & 0xFF];
    }
    size_t before = 0;
    for (size_t& count : at) {
      before += std::exchange(count, before);
    }
    for (const Place& place : places) {
      other[at[place.key >> shift & 0xFF]++] = place;
    }
    places.swap(other);
  }
}

struct Sort {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      rows.load(args, row);
      auto& places = rows.places;
      places.size() >= kRadixSize ? radixSort(places, rows.other) : std::sort(places.begin(), places.end());
      putResults(args, row, places.data());
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

const Register<SortArgs> kSort("sort", Sort{});
const Register<SortArgs> kTopk("topk", Topk{});

} // namespace

} // namespace openreg::kernels
