// The kernels "attention": softmax(scale · query × keyᵀ + bias) × value without the queries × keys matrix.
#include "kernels/launch/registry.h"
#include "kernels/sequence/attention_tile.h"

namespace openreg::kernels {

namespace {

/// The largest of some numbers, and their sum; NaN is in the sum. @param count A multiple of kTileVector.
template <class C>
OPENREG_MULTIVERSION C largestOf(const C* x, int64_t count) {
  C lanes[kTileVector];
  std::fill_n(lanes, kTileVector, -std::numeric_limits<C>::infinity());
  for (int64_t i = 0; i < count; i += kTileVector) {
    for (int64_t lane = 0; lane < kTileVector; ++lane) {
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    }
  }
  return *std::max_element(lanes, lanes + kTileVector);
}

template <class C>
OPENREG_MULTIVERSION C sumOf(const C* x, int64_t count) {
  C lanes[kTileVector] = {};
  for (int64_t i = 0; i < count; i += kTileVector) {
    for (int64_t lane = 0; lane < kTileVector; ++lane) {
      lanes[lane] += x[i + lane];
    }
  }
  C result = 0;
  for (const C lane : lanes) {
    result += lane;
  }
  return result;
}

template <class C>
OPENREG_MULTIVERSION void scaleBy(C* x, C factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] *= factor;
  }
}

// LITERALINCLUDE START: ONLINE SOFTMAX
/// What is known of a query's softmax after some of its keys. A larger score than all before makes what has been added
/// up smaller by the same factor, so that no exponential overflows and no row of scores is needed twice.
template <class C>
struct OnlineSoftmax {
  C largest = -std::numeric_limits<C>::infinity();
  C sum = 0;

  /// Turns a row of scores into exponentials; returns the factor for what has been added up of values.
  C add(C* scores, int64_t count) {
    const C before = largest;
    largest = std::max(before, largestOf(scores, count));
    if (largest == -std::numeric_limits<C>::infinity()) {
      // No key is seen so far, and -Inf - -Inf is no number; NaNs stay what they are.
      exponentials(scores, C(0), count);
      sum += sumOf(scores, count);
      return 1;
    }
    exponentials(scores, largest, count);
    const C factor = std::exp(before - largest);
    sum = sum * factor + sumOf(scores, count);
    return factor;
  }
};
// LITERALINCLUDE END: ONLINE SOFTMAX

/// Queries [query, query + m) of a head. @param scores Room for a tile.
template <class C>
void attend(
    const AttentionArgs& args, AttentionTile<C>& tile, int64_t head, int64_t query, int64_t m, std::vector<C>& scores) {
  OnlineSoftmax<C> softmax[kTileQueries];
  for (int64_t i = 0; i < m; ++i) {
    std::fill_n(tile.row(args.out, head, query + i), args.valueWidth, C(0));
  }
  const int64_t keys = tile.keysBefore(query + m);
  for (int64_t key = 0; key < keys; key += kTileKeys) {
    const int64_t n = std::min(kTileKeys, keys - key);
    tile.scores(query, m, key, n, scores.data());
    for (int64_t i = 0; i < m; ++i) {
      C* row = scores.data() + i * kTileKeys;
      const C factor = softmax[i].add(row, tile.padded(n));
      if (factor != C(1)) {
        scaleBy(tile.row(args.out, head, query + i), factor, args.valueWidth);
      }
      tile.dropOut(query + i, key, n, row);
    }
    tile.product(
        m, args.valueWidth, n, {scores.data(), kTileKeys, false},
        {tile.row(args.value, tile.keyHead(), key), args.value.strides[2], false}, true,
        tile.row(args.out, head, query), args.out.strides[2]);
  }
  auto* logSumExp = static_cast<C*>(args.logSumExp) + tile.firstQuery() + query;
  for (int64_t i = 0; i < m; ++i) {
    const C sum = softmax[i].sum;
    logSumExp[i] = softmax[i].largest + std::log(sum); // -Inf if it sees no key: then its row is 0
    scaleBy(tile.row(args.out, head, query + i), sum == C(0) ? C(1) : C(1) / sum, args.valueWidth);
  }
}

template <class C>
struct AttentionForward {
  void operator()(const AttentionArgs& args, orKernelContext& context) const {
    const int64_t tiles = (args.queries + kTileQueries - 1) / kTileQueries;
    runAttention(args, context, args.batch * args.heads * tiles, [](void* state, int64_t begin, int64_t end) {
      const auto& [args, blas] = *static_cast<const Attention*>(state);
      const int64_t tiles = (args.queries + kTileQueries - 1) / kTileQueries;
      std::vector<C> scores(kTileQueries * kTileKeys);
      for (; begin < end; ++begin) {
        const int64_t head = begin / tiles % args.heads;
        AttentionTile<C> tile(args, blas, begin / tiles / args.heads, head);
        const int64_t query = begin % tiles * kTileQueries;
        attend(args, tile, head, query, std::min(kTileQueries, args.queries - query), scores);
      }
    });
  }
};

const RegisterTypes<"attention", AttentionArgs, AttentionForward, float, double> kAttentionForward;

} // namespace

} // namespace openreg::kernels
