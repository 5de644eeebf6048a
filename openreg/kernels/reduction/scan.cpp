// Kernels that go along one dimension and keep what they have so far.
#include "kernels/reduction/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

namespace {

/// What is kept is of `State`; `step` adds an element, `value` and `index` say what is stored for it.
template <class C>
struct Sum {
  using State = Accumulator<C>;
  static State start() { return State(0); }
  static State step(State sum, C x, int64_t) { return sum + State(x); }
  static C value(State sum) { return C(sum); }
};

template <class C>
struct Product {
  using State = Accumulator<C>;
  static State start() { return State(1); }
  static State step(State product, C x, int64_t) { return product * State(x); }
  static C value(State product) { return C(product); }
};

template <class C>
struct LogSumExp {
  using State = Accumulator<C>;
  static State start() { return State(-std::numeric_limits<double>::infinity()); }
  static State step(State sum, C x, int64_t) { return math::logAddExp(sum, State(x)); }
  static C value(State sum) { return C(sum); }
};

template <class C>
struct Best {
  C value;
  int64_t index; ///< -1: none yet.
};

/// The last of equal elements counts, and a NaN stays.
template <class C>
struct Largest {
  using State = Best<C>;
  static State start() { return {C(0), -1}; }
  static State step(State best, C x, int64_t i) {
    return best.index < 0 || x != x || (best.value == best.value && x >= best.value) ? State{x, i} : best;
  }
  static C value(State best) { return best.value; }
  static int64_t index(State best) { return best.index; }
};

template <class C>
struct Smallest : Largest<C> {
  using State = Best<C>;
  static State step(State best, C x, int64_t i) {
    return best.index < 0 || x != x || (best.value == best.value && x <= best.value) ? State{x, i} : best;
  }
};

/// Scans that lie side by side are done together, so that memory is read in order.
constexpr int64_t kMaxWidth = 64;

template <class S, class C>
class ScanKernel {
 public:
  static void run(const void* bytes, orKernelContext* context) {
    ScanKernel kernel(*static_cast<const ScanArgs*>(bytes));
    const int64_t tiles = kernel.args_.outer * kernel.tilesInside_;
    const int64_t work = std::max(int64_t{1}, kernel.args_.size * kernel.width_);
    context->parallelFor(
        context, tiles, std::max(int64_t{1}, kGrain / work),
        [](void* state, int64_t begin, int64_t end) {
          for (int64_t tile = begin; tile < end; ++tile) {
            static_cast<const ScanKernel*>(state)->scanTile(tile);
          }
        },
        &kernel);
  }

 private:
  using State = S::State;
  static constexpr bool kHasIndex = requires(State state) { S::index(state); };

  explicit ScanKernel(const ScanArgs& args)
      : args_(args), width_(std::min(kMaxWidth, args.inner)), tilesInside_((args.inner + width_ - 1) / width_),
        inputSize_(elementSize(args.inputType)), valueSize_(elementSize(args.valueType)) {}

  void scanTile(int64_t tile) const {
    const int64_t first = tile % tilesInside_ * width_;
    const int64_t at = tile / tilesInside_ * args_.size * args_.inner + first;
    if (args_.inner == 1) {
      scanRow(at);
    } else {
      scanRows(at, std::min(width_, args_.inner - first));
    }
  }

  /// One scan of elements that lie one after the other.
  void scanRow(int64_t at) const {
    C block[kBlock];
    int64_t indices[kBlock];
    State state = S::start();
    for (int64_t done = 0; done < args_.size; done += kBlock) {
      const int64_t count = std::min(kBlock, args_.size - done);
      load(at + done, count, block);
      for (int64_t i = 0; i < count; ++i) {
        keep(state, block[i], done + i, block[i], indices[i]);
      }
      store(at + done, count, block, indices);
    }
  }

  /// Several scans side by side.
  void scanRows(int64_t at, int64_t count) const {
    C row[kMaxWidth];
    int64_t indices[kMaxWidth];
    State states[kMaxWidth];
    std::fill_n(states, count, S::start());
    for (int64_t i = 0; i < args_.size; ++i, at += args_.inner) {
      load(at, count, row);
      for (int64_t k = 0; k < count; ++k) {
        keep(states[k], row[k], i, row[k], indices[k]);
      }
      store(at, count, row, indices);
    }
  }

  static void keep(State& state, C x, int64_t i, C& value, int64_t& index) {
    state = S::step(state, x, i);
    value = S::value(state);
    if constexpr (kHasIndex) {
      index = S::index(state);
    }
  }

  void load(int64_t at, int64_t count, C* to) const {
    const auto* from = static_cast<const char*>(args_.input) + at * inputSize_;
    kernels::load(args_.inputType, from, inputSize_, count, to);
  }
  void store(int64_t at, int64_t count, const C* values, const int64_t* indices) const {
    kernels::store(args_.valueType, static_cast<char*>(args_.values) + at * valueSize_, valueSize_, count, values);
    if constexpr (kHasIndex) {
      std::copy_n(indices, count, static_cast<int64_t*>(args_.indices) + at);
    }
  }

  const ScanArgs& args_;
  int64_t width_;       ///< Scans that are done together.
  int64_t tilesInside_; ///< Groups of that many scans within `inner`.
  int64_t inputSize_;
  int64_t valueSize_;
};

template <Name name, template <class> class S, class List>
class ScanOf;
template <Name name, template <class> class S, class... C>
class ScanOf<name, S, Types<C...>>
    : public HostEntry<fullName<name, C>(), ScanArgs, sizeof(ScanArgs), &ScanKernel<S<C>, C>::run>... {};

const ScanOf<"cumsum", Sum, Numbers> kSum;
const ScanOf<"cumprod", Product, Numbers> kProduct;
const ScanOf<"logcumsumexp", LogSumExp, FloatsAndComplex> kLogSumExp;
const ScanOf<"cummax", Largest, RealNumbersAndBool> kLargest;
const ScanOf<"cummin", Smallest, RealNumbersAndBool> kSmallest;

} // namespace

} // namespace openreg::kernels
