// The kernel "multinomial": indices of categories, by their weights, with and without replacement.
#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "kernels/random/sequence.h"

namespace openreg::kernels {

namespace {

/// What is wrong with a row of weights.
enum class Fault { None, Weight, Sum };

/// A row of the arguments.
struct Row {
  const MultinomialArgs& args;
  int64_t number;

  double* workspace() const { return args.workspace + number * args.categories; }
  int64_t& index(int64_t sample) const {
    return *reinterpret_cast<int64_t*>(
        reinterpret_cast<char*>(args.indices) + number * args.indexStrides[0] + sample * args.indexStrides[1]);
  }
};

/// Loads a row's weights into the workspace.
Fault loadWeights(const Row& row) {
  const MultinomialArgs& args = row.args;
  double* weights = row.workspace();
  const auto* from = static_cast<const char*>(args.weights) + row.number * args.weightStrides[0];
  load(args.dtype, from, args.weightStrides[1], args.categories, weights);
  double sum = 0;
  for (int64_t i = 0; i < args.categories; ++i) {
    const bool isWeight = weights[i] >= 0 && weights[i] <= std::numeric_limits<double>::max(); // NaN is none
    if (!isWeight) {
      return Fault::Weight;
    }
    sum += weights[i];
  }
  return sum > 0 ? Fault::None : Fault::Sum;
}

// LITERALINCLUDE START: WITH REPLACEMENT
/// The sums of the weights up to each category are stairs; a uniform height lands on a stair.
void drawWithReplacement(const Row& row) {
  double* stairs = row.workspace();
  double* end = stairs + row.args.categories;
  std::partial_sum(stairs, end, stairs);
  const double highest = std::nextafter(end[-1], 0.0);
  Sequence numbers(row.args.numbers, row.number * row.args.samples);
  for (int64_t i = 0; i < row.args.samples; ++i) {
    const double unit = static_cast<double>(numbers.next() >> 11) * 0x1p-53;
    row.index(i) = std::upper_bound(stairs, end, std::min(unit * end[-1], highest)) - stairs;
  }
}
// LITERALINCLUDE END: WITH REPLACEMENT

// LITERALINCLUDE START: WITHOUT REPLACEMENT
/// A race: category i arrives after an exponential time with its weight as the rate. The first to arrive are the
/// samples.
void drawWithoutReplacement(const Row& row) {
  double* times = row.workspace();
  int64_t* order = row.args.order + row.number * row.args.categories;
  Sequence numbers(row.args.numbers, row.number * row.args.categories);
  for (int64_t i = 0; i < row.args.categories; ++i) {
    times[i] = -std::log(openUnit(numbers.next())) / times[i]; // never, for a weight of 0
    order[i] = i;
  }
  const auto isEarlier = [&](int64_t a, int64_t b) { return times[a] < times[b] || (times[a] == times[b] && a < b); };
  std::partial_sort(order, order + row.args.samples, order + row.args.categories, isEarlier);
  for (int64_t i = 0; i < row.args.samples; ++i) {
    row.index(i) = order[i];
  }
}
// LITERALINCLUDE END: WITHOUT REPLACEMENT

/// The arguments of a launch, and what goes wrong in one of the threads.
struct Shared {
  const MultinomialArgs& args;
  std::atomic<Fault> fault{Fault::None};
};

void drawRows(void* state, int64_t begin, int64_t end) {
  auto& shared = *static_cast<Shared*>(state);
  for (int64_t number = begin; number < end; ++number) {
    const Row row{shared.args, number};
    if (const Fault fault = loadWeights(row); fault != Fault::None) {
      shared.fault.store(fault, std::memory_order_relaxed);
    } else if (shared.args.replacement != 0) {
      drawWithReplacement(row);
    } else {
      drawWithoutReplacement(row);
    }
  }
}

struct Multinomial {
  void operator()(const MultinomialArgs& args, orKernelContext& context) const {
    Shared shared{args};
    const int64_t grain = std::max(int64_t{1}, kGrain / 16 / std::max(args.categories, args.samples));
    context.parallelFor(&context, args.rows, grain, &drawRows, &shared);
    switch (shared.fault.load(std::memory_order_relaxed)) {
      case Fault::None:
        return;
      case Fault::Weight:
        return context.fail(&context, orErrorAssert, "probability tensor contains either `inf`, `nan` or element < 0");
      case Fault::Sum:
        return context.fail(&context, orErrorAssert, "invalid multinomial distribution (sum of probabilities <= 0)");
    }
  }
};

const Register<"multinomial", MultinomialArgs, Multinomial> registration;

} // namespace

} // namespace openreg::kernels
