// The kernels "attention_backward": the scores are computed again, tile by tile, in place of being kept.
#include "kernels/launch/registry.h"
#include "kernels/reduction/dot.h"
#include "kernels/sequence/attention_tile.h"

namespace openreg::kernels {

namespace {

/// grad = p · (grad − offset) · scale: the derivative of the softmax p, by its scores.
template <class C>
OPENREG_MULTIVERSION void deriveScores(C* grad, const C* p, C offset, C scale, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    grad[i] = p[i] * (grad[i] - offset) * scale;
  }
}

/// Memory of a thread: two tiles.
template <class C>
struct AttentionWorkspace {
  std::vector<C> weights = std::vector<C>(kTileQueries * kTileKeys);
  std::vector<C> grads = std::vector<C>(kTileQueries * kTileKeys);
};

/// Adds what a tile gives to the gradients of its queries, keys and values.
template <class C>
void deriveTile(
    const AttentionArgs& args,
    AttentionTile<C>& tile,
    int64_t head,
    int64_t query,
    int64_t m,
    int64_t key,
    int64_t n,
    const C* offsets,
    AttentionWorkspace<C>& space) {
  const int64_t keyHead = tile.keyHead();
  C* weights = space.weights.data();
  C* grads = space.grads.data();
  const auto rows = [&](const AttentionRows& of, int64_t ofHead, int64_t position, bool transposed = false) {
    return Factor<C>{tile.row(of, ofHead, position), of.strides[2], transposed};
  };
  const auto add = [&](const AttentionRows& to, int64_t ofHead, int64_t position, int64_t count, int64_t width,
                       int64_t over, const Factor<C>& a, const Factor<C>& b) {
    tile.product(count, width, over, a, b, true, tile.row(to, ofHead, position), to.strides[2]);
  };

  tile.scores(query, m, key, n, weights);
  tile.product(
      m, n, args.valueWidth, rows(args.gradOut, head, query), rows(args.value, keyHead, key, true), false, grads,
      kTileKeys);
  const auto* logSumExp = static_cast<const C*>(args.logSumExp) + tile.firstQuery() + query;
  for (int64_t i = 0; i < m; ++i) {
    C* p = weights + i * kTileKeys;
    C* grad = grads + i * kTileKeys;
    if (logSumExp[i] == -std::numeric_limits<C>::infinity()) { // it sees no key
      std::fill_n(p, n, C(0));
      std::fill_n(grad, n, C(0));
      continue;
    }
    exponentials(p, logSumExp[i], tile.padded(n));
    tile.dropOut(query + i, key, n, grad);
    deriveScores(grad, p, offsets[i], static_cast<C>(args.scale), n);
    tile.dropOut(query + i, key, n, p); // from here on these are what the values were multiplied by
  }
  const Factor<C> weightsOfKeys{weights, kTileKeys, true}, gradsOfKeys{grads, kTileKeys, true};
  add(args.gradValue, keyHead, key, n, args.valueWidth, m, weightsOfKeys, rows(args.gradOut, head, query));
  add(args.gradKey, keyHead, key, n, args.width, m, gradsOfKeys, rows(args.query, head, query));
  add(args.gradQuery, head, query, m, args.width, n, {grads, kTileKeys, false}, rows(args.key, keyHead, key));
}

template <class C>
void clearRows(
    const AttentionTile<C>& tile, const AttentionRows& rows, int64_t head, int64_t positions, int64_t width) {
  for (int64_t i = 0; i < positions; ++i) {
    std::fill_n(tile.row(rows, head, i), width, C(0));
  }
}

// LITERALINCLUDE START: ATTENTION BACKWARD
/// One head of keys and all heads of queries that it serves. All of it is one thread's, so that each gradient is added
/// up in one order, and no two threads write to one place.
template <class C>
void deriveHead(
    const AttentionArgs& args, const Blas* blas, int64_t sample, int64_t keyHead, AttentionWorkspace<C>& space) {
  const int64_t served = args.heads / args.keyHeads;
  for (int64_t head = keyHead * served; head < (keyHead + 1) * served; ++head) {
    AttentionTile<C> tile(args, blas, sample, head);
    if (head == keyHead * served) {
      clearRows(tile, args.gradKey, keyHead, args.keys, args.width);
      clearRows(tile, args.gradValue, keyHead, args.keys, args.valueWidth);
    }
    clearRows(tile, args.gradQuery, head, args.queries, args.width);
    for (int64_t query = 0; query < args.queries; query += kTileQueries) {
      const int64_t m = std::min(kTileQueries, args.queries - query);
      C offsets[kTileQueries];
      for (int64_t i = 0; i < m; ++i) {
        offsets[i] = dot(args.valueWidth, tile.row(args.gradOut, head, query + i), tile.row(args.out, head, query + i));
      }
      const int64_t keys = tile.keysBefore(query + m);
      for (int64_t key = 0; key < keys; key += kTileKeys) {
        deriveTile(args, tile, head, query, m, key, std::min(kTileKeys, keys - key), offsets, space);
      }
    }
  }
}
// LITERALINCLUDE END: ATTENTION BACKWARD

template <class C>
struct AttentionBackward {
  void operator()(const AttentionArgs& args, orKernelContext& context) const {
    runAttention(args, context, args.batch * args.keyHeads, [](void* state, int64_t begin, int64_t end) {
      const auto& [args, blas] = *static_cast<const Attention*>(state);
      AttentionWorkspace<C> space;
      for (; begin < end; ++begin) {
        deriveHead(args, blas, begin / args.keyHeads, begin % args.keyHeads, space);
      }
    });
  }
};

const RegisterTypes<"attention_backward", AttentionArgs, AttentionBackward, float, double> kAttentionBackward;

} // namespace

} // namespace openreg::kernels
