// The loop of reductions.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/launch/operand.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"
#include "kernels/reduction/accumulator.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Partial results of one reduction that are kept side by side, so that the loop over them becomes vector code.
constexpr int kLanes = 32;

/// What a functor makes of `count` elements, of which the first has the number `at`. Lane i gets each kLanes-th of
/// them; then the lanes are halved until one is left, as each of a chain of them would wait for the one before.
template <class F, class C>
OPENREG_MULTIVERSION StateOf<F> stateOfRun(F functor, const C* in, int64_t count, int64_t at) {
  StateOf<F> state = functor.start();
  int64_t i = 0;
  if (count >= kLanes) {
    StateOf<F> lanes[kLanes];
    std::fill_n(lanes, kLanes, state);
    for (; i + kLanes <= count; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = functor.step(lanes[lane], in[i + lane], at + i + lane);
      }
    }
    for (int left = kLanes / 2; left > 0; left /= 2) {
      for (int lane = 0; lane < left; ++lane) {
        lanes[lane] = functor.join(lanes[lane], lanes[lane + left]);
      }
    }
    state = lanes[0];
  }
  for (; i < count; ++i) {
    state = functor.step(state, in[i], at + i);
  }
  return state;
}

/// A state with these elements more.
template <class F, class C>
StateOf<F> withRun(const F& functor, StateOf<F> state, const C* in, int64_t count, int64_t at) {
  if constexpr (requires { functor.addRun(state, in, count, at); }) {
    functor.addRun(state, in, count, at);
    return state;
  } else {
    return functor.join(state, stateOfRun(functor, in, count, at));
  }
}

/// One element each, the one with number `at`, of `count` reductions that lie side by side; for `rows` rows.
template <class F, class State, class C>
OPENREG_MULTIVERSION void
accumulateRows(F functor, State* states, const C* in, int64_t count, int64_t rows, int64_t rowStride, int64_t at) {
  for (int64_t row = 0; row < rows; ++row, in += rowStride, ++at) {
    OPENREG_IVDEP // `states` are the kernel's own.
    for (int64_t i = 0; i < count; ++i) {
      states[i] = functor.step(states[i], in[i], at);
    }
  }
}

/// The space of a reduction, taken apart: dimensions that are kept, and dimensions that are reduced.
struct ReductionSpace {
  int dims = 0;
  int64_t elements = 1;
  int64_t sizes[kMaxOperandDims];
  int64_t inStrides[kMaxOperandDims];

  void append(int64_t size, int64_t inStride) {
    sizes[dims] = size;
    inStrides[dims++] = inStride;
    elements *= size;
  }
};

/// A kernel out of a functor:
///
///     State start()                       the result of no element
///     State step(State, C, int64_t i)     with one element more; i is its number among those reduced
///     State join(State, State)            of two parts, the first of which comes first
///     Result finish(State, int64_t n)     what is stored: a value, or a tuple of one for each output
///     void addRun(State&, const C*, int64_t count, int64_t at)
///                                         where a State of several fields keeps step() from becoming vector code:
///                                         `count` elements more, of which the first has the number `at`
///
/// Long reductions are done in parts whose number depends on the sizes alone, so that the result does, too.
template <class F, class C>
class ReduceKernel {
  using State = StateOf<F>;
  using Result = decltype(std::declval<const F>().finish(std::declval<State>(), int64_t{}));

  static constexpr int kOutputs = kOutputsOf<Result>;

 public:
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (args.dims < 0 || args.dims > kMaxOperandDims || args.operands != kOutputs + 1) {
      return context->fail(context, orErrorInvalidValue, "dims or operands is out of range");
    }
    ReduceKernel kernel(args);
    kernel.reduce(context);
  }

 private:
  explicit ReduceKernel(const StridedArgs& args)
      : args_(args), functor_(makeFunctor<F>(args.parameters)), input_(args.operand(kOutputs)) {
    const int64_t* inStrides = args.strides(kOutputs);
    int64_t nearestKept = INT64_MAX;
    int64_t nearestReduced = INT64_MAX;
    for (int i = 0; i < args.dims; ++i) {
      if (args.sizes()[i] == 1) {
        continue;
      }
      const bool isReduced = args.strides(0)[i] == 0;
      auto& nearest = isReduced ? nearestReduced : nearestKept;
      nearest = std::min(nearest, std::abs(inStrides[i]));
      if (!isReduced) {
        for (int k = 0; k < kOutputs; ++k) {
          outStrides_[k][kept_.dims] = args.strides(k)[i];
        }
      }
      (isReduced ? reduced_ : kept_).append(args.sizes()[i], inStrides[i]);
    }
    // A result at a time, or many results side by side: so that memory is read in order, and loops are long.
    sideBySide_ = nearestKept < nearestReduced || reduced_.elements < 2 * kLanes;
    const int64_t results = sideBySide_ ? kBlock : std::max(int64_t{1}, kGrain / 4 / reduced_.elements);
    width_ = std::max(int64_t{1}, std::min(results, kept_.elements));
    part_ = std::max(int64_t{1}, kGrain / (sideBySide_ ? width_ : 1));
    parts_ = (reduced_.elements + part_ - 1) / part_;
    tiles_ = (kept_.elements + width_ - 1) / width_;
  }

  void reduce(orKernelContext* context) {
    const int64_t work = width_ * std::min(part_, reduced_.elements);
    const int64_t grain = std::max(int64_t{1}, kGrain / std::max(int64_t{1}, work));
    if (parts_ > 1) {
      partial_.resize(static_cast<size_t>(parts_ * kept_.elements));
    }
    context->parallelFor(
        context, tiles_ * std::max(int64_t{1}, parts_), grain,
        [](void* state, int64_t begin, int64_t end) {
          for (int64_t piece = begin; piece < end; ++piece) {
            static_cast<ReduceKernel*>(state)->reducePiece(piece);
          }
        },
        this);
    if (parts_ > 1) {
      context->parallelFor(
          context, kept_.elements, std::max(int64_t{1}, kGrain / parts_),
          [](void* state, int64_t begin, int64_t end) { static_cast<ReduceKernel*>(state)->joinParts(begin, end); },
          this);
    }
  }

  /// One part of the results of one tile.
  void reducePiece(int64_t piece) {
    const int64_t tile = piece / std::max(int64_t{1}, parts_);
    const int64_t part = piece % std::max(int64_t{1}, parts_);
    const int64_t first = tile * width_;
    const int64_t count = std::min(width_, kept_.elements - first);
    const int64_t begin = part * part_;
    const int64_t end = std::min(begin + part_, reduced_.elements);
    State states[kBlock];
    if (sideBySide_) {
      std::fill_n(states, count, functor_.start());
      reduceTile(states, first, count, begin, end);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        states[i] = reduceOne(first + i, begin, end);
      }
    }
    if (parts_ > 1) {
      std::copy_n(states, count, partial_.data() + part * kept_.elements + first);
    } else {
      put(first, count, states);
    }
  }

  const char* input() const { return static_cast<const char*>(input_.data); }

  /// Elements as an array of C: where they are, or converted.
  const C* array(const char* from, int64_t stride, int64_t count, C* block) const {
    if (input_.dtype == kDTypeOf<C> && stride == sizeof(C)) {
      return reinterpret_cast<const C*>(from);
    }
    load(input_.dtype, from, stride, count, block);
    return block;
  }

  State reduceOne(int64_t result, int64_t begin, int64_t end) const {
    const char* from = input() + Cursor(kept_.dims, kept_.sizes, kept_.inStrides, result).offset();
    Cursor cursor(reduced_.dims, reduced_.sizes, reduced_.inStrides, begin);
    State state = functor_.start();
    C block[kBlock];
    const bool inPlace = input_.dtype == kDTypeOf<C> && reduced_.dims > 0 && reduced_.inStrides[0] == sizeof(C);
    const int64_t most = inPlace ? end - begin : kBlock;
    for (int64_t at = begin; at < end; at += most) {
      cursor.advance(std::min(most, end - at), [&](int64_t offset, int64_t stride, int64_t done, int64_t run) {
        state = withRun(functor_, state, array(from + offset, stride, run, block), run, at + done);
      });
    }
    return state;
  }

  void reduceTile(State* states, int64_t first, int64_t count, int64_t begin, int64_t end) const {
    Cursor kept(kept_.dims, kept_.sizes, kept_.inStrides, first);
    C block[kBlock];
    kept.advance(count, [&](int64_t start, int64_t stride, int64_t done, int64_t run) {
      const char* from = input() + start;
      if (reduced_.dims == 1 && input_.dtype == kDTypeOf<C> && stride == sizeof(C) &&
          reduced_.inStrides[0] % static_cast<int64_t>(sizeof(C)) == 0) {
        const int64_t rowStride = reduced_.inStrides[0];
        accumulateRows(
            functor_, states + done, reinterpret_cast<const C*>(from + begin * rowStride), run, end - begin,
            rowStride / static_cast<int64_t>(sizeof(C)), begin);
        return;
      }
      int64_t at = begin;
      Cursor rows(reduced_.dims, reduced_.sizes, reduced_.inStrides, begin);
      rows.advance(end - begin, [&](int64_t offset, int64_t rowStride, int64_t, int64_t count) {
        for (int64_t row = 0; row < count; ++row, ++at) {
          const C* elements = array(from + offset + row * rowStride, stride, run, block);
          accumulateRows(functor_, states + done, elements, run, 1, 0, at);
        }
      });
    });
  }

  void joinParts(int64_t begin, int64_t end) {
    for (int64_t result = begin; result < end; ++result) {
      State state = partial_[static_cast<size_t>(result)];
      for (int64_t part = 1; part < parts_; ++part) {
        state = functor_.join(state, partial_[static_cast<size_t>(part * kept_.elements + result)]);
      }
      put(result, 1, &state);
    }
  }

  /// Stores finished results.
  void put(int64_t first, int64_t count, const State* states) const {
    putOutputs(first, count, states, std::make_index_sequence<kOutputs>());
  }
  template <size_t... I>
  void putOutputs(int64_t first, int64_t count, const State* states, std::index_sequence<I...>) const {
    (putOutput<I>(first, count, states), ...);
  }
  template <size_t I>
  void putOutput(int64_t first, int64_t count, const State* states) const {
    const auto value = [&](int64_t i) {
      if constexpr (kOutputs == 1) {
        return functor_.finish(states[i], reduced_.elements);
      } else {
        return std::get<I>(functor_.finish(states[i], reduced_.elements));
      }
    };
    const Operand& output = args_.operand(I);
    decltype(value(0)) block[kBlock];
    for (int64_t i = 0; i < count; ++i) {
      block[i] = value(i);
    }
    Cursor cursor(kept_.dims, kept_.sizes, outStrides_[I], first);
    cursor.advance(count, [&](int64_t offset, int64_t stride, int64_t done, int64_t run) {
      store(output.dtype, static_cast<char*>(output.data) + offset, stride, run, block + done);
    });
  }

  const StridedArgs& args_;
  const F functor_;
  const Operand& input_;
  ReductionSpace kept_;
  ReductionSpace reduced_;
  int64_t outStrides_[kOutputs][kMaxOperandDims];
  bool sideBySide_; ///< Whether the results of a tile are computed so, or one after the other.
  int64_t width_;   ///< Results of a tile.
  int64_t tiles_;
  int64_t part_;  ///< Elements of a reduction that are one piece of work.
  int64_t parts_; ///< Such pieces of each reduction.
  std::vector<State> partial_;
};

} // namespace openreg::kernels
