// The loop of reductions on a GPU: a thread reduces short runs by itself, a block of threads long ones together, and
// several blocks those of which there are too few to give each block one.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/launch/operand.h"
#include "kernels/loop/block.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/row.h"
#include "kernels/reduction/accumulator.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// The dimensions that a reduction keeps, or those that it goes along.
struct ReductionDims {
  int count = 0;
  int64_t elements = 1;
  int64_t nearest = INT64_MAX; ///< The smallest distance in memory from one element of the input to the next.
};

/// A kernel out of a functor: see the file of this name among the kernels. Which thread reduces what depends on sizes
/// and strides alone, so the result does, too.
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
    const ReduceKernel kernel(args);
    constexpr int64_t kShort = 64;
    kernel.reduced_.elements < kShort ? kernel.byThread(*context) : kernel.byBlock(*context);
  }

 private:
  explicit ReduceKernel(const StridedArgs& args)
      : args_(args), functor_(makeFunctor<F>(args.parameters)), input_(args.operand(kOutputs)) {
    for (int d = 0; d < args.dims; ++d) {
      if (const int64_t size = args.sizes()[d]; size != 1) {
        ReductionDims& dims = isReduced(d) ? reduced_ : kept_;
        const int64_t stride = args.strides(kOutputs)[d];
        const int64_t distance = stride < 0 ? -stride : stride;
        ++dims.count;
        dims.elements *= size;
        dims.nearest = distance < dims.nearest ? distance : dims.nearest;
        onlyStride_ = isReduced(d) ? stride : onlyStride_;
      }
    }
  }

  bool isReduced(int dim) const { return args_.strides(0)[dim] == 0; }

  void byThread(const orKernelContext& context) const {
    context.forEach(kept_.elements, [&](int64_t result) { put(result, partOf(result, 0, 1)); });
  }

  // LITERALINCLUDE START: GPU PARTS
  /// Who does what. A block has some results, a column of threads each; several blocks have parts of the same ones.
  struct Division {
    int columns;
    int64_t tiles; ///< Of so many results.
    int64_t parts; ///< Of each tile.
  };

  Division divide() const {
    // Where results lie side by side in memory, so do the elements that neighbouring threads read.
    int columns = 1;
    if (kept_.nearest < reduced_.nearest) {
      while (columns < kWarp && columns < kept_.elements) {
        columns *= 2;
      }
    }
    constexpr int64_t kElements = 16; // that a thread has at least
    constexpr int64_t kStates = sizeof(Scratch::bytes) / sizeof(State);
    const int64_t tiles = (kept_.elements + columns - 1) / columns;
    const int64_t useful = reduced_.elements * columns / (kElements * kThreads);
    const int64_t most = std::min(int64_t{Scratch::kTallies}, kStates / columns) / tiles;
    return {columns, tiles, std::max(int64_t{1}, std::min(useful, most))};
  }

  void byBlock(const orKernelContext& context) const {
    const Division division = divide();
    const int me = static_cast<int>(threadIdx.x);
    const int column = me % division.columns;
    const int lane = me / division.columns;
    const int lanes = kThreads / division.columns;
    for (int64_t piece = blockIdx.x; piece < division.tiles * division.parts; piece += gridDim.x) {
      const int64_t result = piece / division.parts * division.columns + column;
      const bool isOne = result < kept_.elements;
      const int64_t first = piece % division.parts * lanes + lane;
      State state = isOne ? partOf(result, first, division.parts * lanes) : functor_.start();
      state = joinThreads(functor_, state, division.columns);
      if (division.parts > 1 && !joinBlocks(*context.services.scratch, division, piece, state)) {
        continue;
      }
      if (lane == 0 && isOne) {
        put(result, state);
      }
    }
  }

  /// Joins what the blocks with the parts of a tile have. The one that comes last does so; the others have false.
  bool joinBlocks(Scratch& scratch, const Division& division, int64_t piece, State& state) const {
    auto* states = reinterpret_cast<State*>(scratch.bytes);
    __shared__ bool isLast;
    const int me = static_cast<int>(threadIdx.x);
    const int64_t tile = piece / division.parts;
    if (me < division.columns) {
      states[piece * division.columns + me] = state;
      __threadfence(); // before the tally says that it is there
    }
    __syncthreads();
    if (me == 0) {
      isLast = atomicAdd(&scratch.tallies[tile], 1U) == division.parts - 1;
    }
    __syncthreads();
    const bool last = isLast;
    __syncthreads(); // before the next tile's
    if (!last) {
      return false;
    }
    __threadfence(); // behind the tally
    state = functor_.start();
    const int lanes = kThreads / division.columns;
    for (int64_t part = me / division.columns; part < division.parts; part += lanes) {
      const int64_t from = (tile * division.parts + part) * division.columns + me % division.columns;
      state = functor_.join(state, states[from]);
    }
    state = joinThreads(functor_, state, division.columns);
    if (me == 0) {
      scratch.tallies[tile] = 0; // for the next launch
    }
    return true;
  }
  // LITERALINCLUDE END: GPU PARTS

  /// A result of each `step`-th element, from `first` on.
  State partOf(int64_t result, int64_t first, int64_t step) const {
    const char* from = static_cast<const char*>(input_.data) + offsetOf(kOutputs, result, false);
    State state = functor_.start();
    for (int64_t i = first; i < reduced_.elements; i += step) {
      const void* at = from + (reduced_.count == 1 ? i * onlyStride_ : offsetOf(kOutputs, i, true));
      const C value = input_.dtype == kDTypeOf<C> ? *static_cast<const C*>(at) : loadOne<C>(input_.dtype, at);
      state = functor_.step(state, value, i);
    }
    return state;
  }

  /// Where an operand's element `number` is, counted along the dimensions that are reduced, or along the others.
  int64_t offsetOf(int operand, int64_t number, bool alongReduced) const {
    int64_t offset = 0;
    for (int d = 0; d < args_.dims; ++d) {
      const int64_t size = args_.sizes()[d];
      if (size != 1 && isReduced(d) == alongReduced) {
        const int64_t rest = number / size;
        offset += (number - rest * size) * args_.strides(operand)[d];
        number = rest;
      }
    }
    return offset;
  }

  void put(int64_t result, const State& state) const {
    const auto value = functor_.finish(state, reduced_.elements);
    if constexpr (kOutputs == 1) {
      putOutput(0, result, value);
    } else {
      putAll(result, value, std::make_index_sequence<kOutputs>());
    }
  }
  template <size_t... I>
  void putAll(int64_t result, const Result& values, std::index_sequence<I...> /*outputs*/) const {
    (putOutput(I, result, std::get<I>(values)), ...);
  }
  template <class V>
  void putOutput(int output, int64_t result, V value) const {
    const Operand& operand = args_.operand(output);
    storeOne<V>(operand.dtype, static_cast<char*>(operand.data) + offsetOf(output, result, false), value);
  }

  const StridedArgs& args_;
  const F functor_;
  const Operand& input_;
  ReductionDims kept_;
  ReductionDims reduced_;
  int64_t onlyStride_ = 0; ///< Of the reduced dimension, if there is one.
};

} // namespace openreg::kernels
