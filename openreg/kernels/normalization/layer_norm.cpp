// The kernels "layer_norm" and "layer_norm_backward": a row at a time, and the gradients of weight and bias some
// columns at a time.
#include <cmath>
#include <vector>

#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/loop/ivdep.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

/// out = (x − mean) · scale · weight + bias
template <class C>
OPENREG_MULTIVERSION void
normalizeRow(C* out, const C* x, C mean, C scale, const C* weight, const C* bias, int64_t count) {
  OPENREG_IVDEP // `out` is apart from the others.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
  }
}

template <class C>
struct LayerNorm {
  using A = Accumulator<C>;

  void operator()(const LayerNormArgs& args, orKernelContext& context) const {
    context.parallelFor(
        &context, args.rows, kGrain / std::max(int64_t{1}, args.columns) + 1,
        [](void* state, int64_t begin, int64_t end) { rows(*static_cast<const LayerNormArgs*>(state), begin, end); },
        const_cast<LayerNormArgs*>(&args));
  }

 private:
  static void rows(const LayerNormArgs& args, int64_t begin, int64_t end) {
    const int64_t columns = args.columns;
    const auto filler = [&](const void* array, C value) {
      return std::vector<C>(static_cast<size_t>(array != nullptr ? 0 : columns), value);
    };
    const std::vector<C> ones = filler(args.weight, C(1));
    const std::vector<C> zeros = filler(args.bias, C(0));
    const C* weight = args.weight != nullptr ? static_cast<const C*>(args.weight) : ones.data();
    const C* bias = args.bias != nullptr ? static_cast<const C*>(args.bias) : zeros.data();
    for (int64_t row = begin; row < end; ++row) {
      const C* input = static_cast<const C*>(args.input) + row * columns;
      const A mean = sumOf(input, columns) / A(columns);
      const A rstd = A(1) / std::sqrt(squaresOf(input, C(mean), columns) / A(columns) + A(args.eps));
      static_cast<C*>(args.mean)[row] = C(mean);
      static_cast<C*>(args.rstd)[row] = C(rstd);
      normalizeRow(static_cast<C*>(args.output) + row * columns, input, C(mean), C(rstd), weight, bias, columns);
    }
  }
};

/// Adds one row to the sums of some columns.
template <class C, class A>
OPENREG_MULTIVERSION void addRow(A* weight, A* bias, const C* grad, const C* x, C mean, C rstd, int64_t count) {
  OPENREG_IVDEP // The sums are the kernel's own.
  for (int64_t i = 0; i < count; ++i) {
    weight[i] += A(grad[i] * ((x[i] - mean) * rstd));
    bias[i] += A(grad[i]);
  }
}

template <class C>
class LayerNormGradient {
  using A = Accumulator<C>;

 public:
  explicit LayerNormGradient(const LayerNormBackwardArgs& args) : args_(args) {
    if (args.gradWeight != nullptr || args.gradBias != nullptr) {
      blocks_ = (args.columns + kColumns - 1) / kColumns;
      parts_ = std::clamp(args.rows / kRows, int64_t{1}, kParts);
      sums_.resize(static_cast<size_t>(2 * parts_ * args.columns));
    }
  }

  void run(orKernelContext& context) {
    if (args_.gradInput != nullptr) {
      loop<&LayerNormGradient::inputRows>(context, args_.rows, kGrain / std::max(int64_t{1}, args_.columns) + 1);
    }
    if (blocks_ > 0) {
      loop<&LayerNormGradient::sumColumns>(context, blocks_ * parts_, 1);
      loop<&LayerNormGradient::joinParts>(context, args_.columns, kGrain / parts_);
    }
  }

 private:
  static constexpr int64_t kColumns = 128; ///< That are summed side by side.
  static constexpr int64_t kRows = 64;     ///< At least, in one part.
  static constexpr int64_t kParts = 8;     ///< At most.

  template <auto body>
  void loop(orKernelContext& context, int64_t count, int64_t grain) {
    context.parallelFor(
        &context, count, grain,
        [](void* state, int64_t begin, int64_t end) { (static_cast<LayerNormGradient*>(state)->*body)(begin, end); },
        this);
  }

  template <class T = const C>
  T* row(void* array, int64_t row) const {
    return static_cast<T*>(array) + row * args_.columns;
  }
  A mean(int64_t row) const { return A(static_cast<const C*>(args_.mean)[row]); }
  A rstd(int64_t row) const { return A(static_cast<const C*>(args_.rstd)[row]); }

  void inputRows(int64_t begin, int64_t end) {
    const int64_t columns = args_.columns;
    std::vector<C> weighted(static_cast<size_t>(args_.weight != nullptr ? columns : 0));
    for (int64_t i = begin; i < end; ++i) {
      const C* grad = row(args_.gradOutput, i);
      if (args_.weight != nullptr) {
        multiplyRows(weighted.data(), grad, static_cast<const C*>(args_.weight), columns);
        grad = weighted.data();
      }
      const C* input = row(args_.input, i);
      const A sum = sumOf(grad, columns) / A(columns);
      const A slope = -productsOf(input, C(mean(i)), grad, columns) / A(columns) * rstd(i) * rstd(i) * rstd(i);
      combineRows(
          row<C>(args_.gradInput, i), grad, C(rstd(i)), input, C(mean(i)), C(slope), C(-rstd(i) * sum), columns);
    }
  }

  /// Sums of weight's gradient, and behind them of bias's, for one part of the rows.
  A* sums(int64_t part) { return sums_.data() + 2 * part * args_.columns; }

  void sumColumns(int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t part = piece / blocks_;
      const int64_t column = piece % blocks_ * kColumns;
      const int64_t count = std::min(kColumns, args_.columns - column);
      for (int64_t i = args_.rows * part / parts_; i < args_.rows * (part + 1) / parts_; ++i) {
        addRow(
            sums(part) + column, sums(part) + args_.columns + column, row(args_.gradOutput, i) + column,
            row(args_.input, i) + column, C(mean(i)), C(rstd(i)), count);
      }
    }
  }

  void joinParts(int64_t begin, int64_t end) {
    for (int which = 0; which < 2; ++which) {
      C* to = static_cast<C*>(which == 0 ? args_.gradWeight : args_.gradBias);
      for (int64_t i = begin; to != nullptr && i < end; ++i) {
        A sum(0);
        for (int64_t part = 0; part < parts_; ++part) {
          sum += sums(part)[which * args_.columns + i];
        }
        to[i] = C(sum);
      }
    }
  }

  const LayerNormBackwardArgs& args_;
  int64_t blocks_ = 0;  ///< Of columns.
  int64_t parts_ = 1;   ///< Of rows; each has sums of its own.
  std::vector<A> sums_; ///< Of all parts.
};

template <class C>
struct LayerNormBackward {
  void operator()(const LayerNormBackwardArgs& args, orKernelContext& context) const {
    LayerNormGradient<C>(args).run(context);
  }
};

const RegisterTypes<"layer_norm", LayerNormArgs, LayerNorm, float, double> kForward;
const RegisterTypes<"layer_norm_backward", LayerNormBackwardArgs, LayerNormBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
