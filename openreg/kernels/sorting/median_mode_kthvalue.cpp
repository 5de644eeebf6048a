// The kernels "kthvalue", "median" and "mode": one element of each row, by its place in the order.
#include "kernels/sorting/places.h"

namespace openreg::kernels {

namespace {

struct KthValue {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      rows.load(args, row);
      const auto found = rows.places.begin() + args.k - 1;
      std::nth_element(rows.places.begin(), found, rows.places.end());
      putResults(args, row, &*found);
    });
  }
};

struct Median {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      rows.load(args, row);
      auto& places = rows.places;
      const auto isNan = [&](const Place& place) { return isFloating(args.dtype) && place.key == kNanKey; };
      const auto nan = std::find_if(places.begin(), places.end(), isNan);
      if (nan != places.end() && args.ignoresNan == 0) {
        return putResults(args, row, &*nan);
      }
      const int64_t numbers = args.size - std::count_if(nan, places.end(), isNan);
      const auto middle = places.begin() + std::max(int64_t{0}, numbers - 1) / 2;
      std::nth_element(places.begin(), middle, places.end());
      putResults(args, row, &*middle);
    });
  }
};

/// The most frequent element; of several, the smallest. Which of its places is given is left open, as above.
struct Mode {
  void operator()(const SortArgs& args, orKernelContext& context) const {
    forEachRow(args, context, [](const SortArgs& args, int64_t row, Rows& rows) {
      rows.load(args, row);
      auto& places = rows.places;
      std::sort(places.begin(), places.end(), lessByKey);
      size_t best = 0;
      size_t most = 0;
      for (size_t i = 0, first = 0; i < places.size(); ++i) {
        first = places[i].key == places[first].key ? first : i;
        if (i - first + 1 > most) {
          most = i - first + 1;
          best = i;
        }
      }
      putResults(args, row, &places[best]);
    });
  }
};

const Register<"kthvalue", SortArgs, KthValue> kKthValue;
const Register<"median", SortArgs, Median> kMedian;
const Register<"mode", SortArgs, Mode> kMode;

} // namespace

} // namespace openreg::kernels
