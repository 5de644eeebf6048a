// A tile of attention: some queries of one head against some keys. All that is ever in memory of the queries × keys
// matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/linalg/small_gemm.h"
#include "kernels/loop/block.h"
#include "kernels/loop/multiversion.h"
#include "kernels/math/vector_math.h"
#include "kernels/random/draw_blocks.h"
#include "kernels/sequence/attention.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Positions of a tile. Its numbers stay in the processor's cache from one product to the next.
constexpr int64_t kTileQueries = 128;
constexpr int64_t kTileKeys = 256;
/// Rows are made up to whole vectors, with scores of -Inf, so that rounding does not depend on where a row ends.
constexpr int64_t kTileVector = 16;

/// x · scale + bias
template <class C>
OPENREG_MULTIVERSION static void scaleScores(C* x, const C* bias, C scale, int64_t count) {
  if (bias == nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      x[i] *= scale;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      x[i] = x[i] * scale + bias[i];
    }
  }
}

/// e^(x - offset). What is too small for a number of full precision becomes 0: the vector form of exp would take those
/// apart, one by one, and masks are made of them. @param count A multiple of kTileVector.
template <class C>
OPENREG_MULTIVERSION static void exponentials(C* x, C offset, int64_t count) {
  constexpr C kSmallest = sizeof(C) == sizeof(float) ? C(-87) : C(-708);
  for (int64_t i = 0; i < count; ++i) {
    const C exponent = x[i] - offset;
    const C power = std::exp(exponent < kSmallest ? kSmallest : exponent);
    x[i] = exponent < kSmallest ? C(0) : power;
  }
}

/// One head of one sample, and a place in it.
template <class C>
class AttentionTile {
 public:
  AttentionTile(const AttentionArgs& args, const Blas* blas, int64_t sample, int64_t head)
      : args_(args), blas_(blas), sample_(sample), head_(head), bias_(kTileKeys), bits_(kTileKeys + 8) {}

  /// The row of a position. @param head Of the array: of queries, or of keys.
  C* row(const AttentionRows& rows, int64_t head, int64_t position) const {
    return static_cast<C*>(rows.data) + sample_ * rows.strides[0] + head * rows.strides[1] + position * rows.strides[2];
  }
  int64_t keyHead() const { return head_ / (args_.heads / args_.keyHeads); }

  /// Number of the first of a head's queries among all.
  int64_t firstQuery() const { return (sample_ * args_.heads + head_) * args_.queries; }

  /// to = a × b, or to + a × b. `a` has `m` rows, or columns if transposed, and so on.
  void product(
      int64_t m, int64_t n, int64_t k, const Factor<C>& a, const Factor<C>& b, bool add, C* to, int64_t leading) const {
    multiply(blas_, m, n, k, a, b, add, to, leading);
  }

  /// Keys that the queries before `end` see.
  int64_t keysBefore(int64_t end) const { return args_.causal != 0 ? std::min(args_.keys, end) : args_.keys; }

  /// The scores of queries [query, query + m) and keys [key, key + n): rows, kTileKeys apart, each ready for
  /// exponentials of padded(n) numbers.
  void scores(int64_t query, int64_t m, int64_t key, int64_t n, C* to) {
    const auto& [q, k] = std::pair(args_.query, args_.key);
    product(
        m, n, args_.width, {row(q, head_, query), q.strides[2], false}, {row(k, keyHead(), key), k.strides[2], true},
        false, to, kTileKeys);
    for (int64_t i = 0; i < m; ++i) {
      C* scores = to + i * kTileKeys;
      scaleScores(scores, biasOf(query + i, key, n), static_cast<C>(args_.scale), n);
      const int64_t seen = args_.causal != 0 ? std::clamp(query + i + 1 - key, int64_t{0}, n) : n;
      std::fill(scores + seen, scores + padded(n), -std::numeric_limits<C>::infinity());
    }
  }

  /// Multiplies the numbers of pairs by 1 / keep, or by 0 if dropout does not keep them.
  void dropOut(int64_t query, int64_t key, int64_t n, C* row) {
    if (args_.keep >= 1) {
      return;
    }
    const int64_t first = (firstQuery() + query) * args_.keys + key;
    constexpr int64_t kEach = kPerBlock<uint32_t>;
    const int64_t block = first / kEach;
    drawBlocks(args_.numbers, block, (first + n + kEach - 1) / kEach - block, bits_.data());
    const uint32_t* bits = bits_.data() + first % kEach;
    const auto last = static_cast<uint64_t>(args_.keep * 0x1p32); // so many of the 2^32 words keep
    const auto factor = static_cast<C>(1 / args_.keep);
    for (int64_t j = 0; j < n; ++j) {
      row[j] *= bits[j] < last ? factor : C(0);
    }
  }

  static int64_t padded(int64_t count) { return (count + kTileVector - 1) / kTileVector * kTileVector; }

 private:
  const C* biasOf(int64_t query, int64_t key, int64_t n) {
    if (args_.bias == nullptr) {
      return nullptr;
    }
    const int64_t* strides = args_.biasStrides;
    const auto* from = static_cast<const char*>(args_.bias) + sample_ * strides[0] + head_ * strides[1] +
                       query * strides[2] + key * strides[3];
    if (args_.biasType == kDTypeOf<C> && strides[3] == sizeof(C)) {
      return reinterpret_cast<const C*>(from);
    }
    load(args_.biasType, from, strides[3], n, bias_.data());
    return bias_.data();
  }

  const AttentionArgs& args_;
  const Blas* blas_;
  int64_t sample_;
  int64_t head_;
  std::vector<C> bias_;
  std::vector<uint32_t> bits_;
};

/// A running kernel, for the bodies of its loop.
struct Attention {
  const AttentionArgs& args;
  const Blas* blas;
};

/// Runs `body` over [0, count), with an Attention as its state.
inline void runAttention(const AttentionArgs& args, orKernelContext& context, int64_t count, orLoopBody body) {
  const char* why = nullptr;
  Attention attention{args, blas(why)};
  if (attention.blas == nullptr) {
    return context.fail(&context, orErrorNotFound, why);
  }
  context.parallelFor(&context, count, 1, body, &attention);
}

} // namespace openreg::kernels
