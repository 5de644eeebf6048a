// Kernels that go along one dimension and keep what they have so far.
#include "kernels/reduction/scan.h"

#include <cmath>
#include <limits>

#include "kernels/launch/registry.h"
#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/reduction/accumulator.h"
#include "kernels/reduction/scan_loop.h"

namespace openreg::kernels {

namespace {

/// What is kept is of `State`; `step` adds an element, `join` what comes of the elements behind, `value` and `index`
/// say what is stored.
template <class C>
struct Sum {
  using State = Accumulator<C>;
  static State start() { return State(0); }
  static State step(State sum, C x, int64_t) { return sum + State(x); }
  static State join(State sum, State behind) { return sum + behind; }
  static C value(State sum) { return C(sum); }
};

template <class C>
struct Product {
  using State = Accumulator<C>;
  static State start() { return State(1); }
  static State step(State product, C x, int64_t) { return product * State(x); }
  static State join(State product, State behind) { return product * behind; }
  static C value(State product) { return C(product); }
};

template <class C>
struct LogSumExp {
  using State = Accumulator<C>;
  static State start() { return State(-std::numeric_limits<double>::infinity()); }
  static State step(State sum, C x, int64_t) { return math::logAddExp(sum, State(x)); }
  static State join(State sum, State behind) { return math::logAddExp(sum, behind); }
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
  static State join(State best, State behind) {
    return behind.index < 0 ? best : step(best, behind.value, behind.index);
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
  static State join(State best, State behind) {
    return behind.index < 0 ? best : step(best, behind.value, behind.index);
  }
};

template <Name name, template <class> class S, class List>
class ScanOf;
template <Name name, template <class> class S, class... C>
class ScanOf<name, S, Types<C...>>
    : public Entry<fullName<name, C>(), ScanArgs, sizeof(ScanArgs), &ScanKernel<S<C>, C>::run>... {};

const ScanOf<"cumsum", Sum, Numbers> kSum;
const ScanOf<"cumprod", Product, Numbers> kProduct;
const ScanOf<"logcumsumexp", LogSumExp, FloatsAndComplex> kLogSumExp;
const ScanOf<"cummax", Largest, RealNumbersAndBool> kLargest;
const ScanOf<"cummin", Smallest, RealNumbersAndBool> kSmallest;

} // namespace

} // namespace openreg::kernels
