// The kernels "rms_norm" and "rms_norm_backward": a row at a time, and the weight's gradient some columns at a time.
#include <cmath>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/normalization/number_rows.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

/// out = x · scale · weight
template <class C>
OPENREG_MULTIVERSION void scaleAndWeigh(C* out, const C* x, C scale, const C* weight, int64_t count) {
  OPENREG_IVDEP // `out` may be `x`, but element by element that is no dependency.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * scale * weight[i];
  }
}

/// out = out + x
template <class C>
OPENREG_MULTIVERSION void addToRow(C* out, const C* x, int64_t count) {
  OPENREG_IVDEP // Each element depends on its own only.
  for (int64_t i = 0; i < count; ++i) {
    out[i] += x[i];
  }
}

// LITERALINCLUDE START: RMS NORM KERNEL
template <class C>
struct RmsNorm {
  using A = Accumulator<C>;

  void operator()(const RmsNormArgs& args, orKernelContext& context) const {
    context.parallelFor(
        &context, args.rows, kGrain / std::max(int64_t{1}, args.columns) + 1,
        [](void* state, int64_t begin, int64_t end) { rows(*static_cast<const RmsNormArgs*>(state), begin, end); },
        const_cast<RmsNormArgs*>(&args));
  }

 private:
  static void rows(const RmsNormArgs& args, int64_t begin, int64_t end) {
    const int64_t columns = args.columns;
    RowBuffer<C> input(args.input, columns), residual(args.residual, columns), output(args.output, columns);
    RowBuffer<C> weights(args.weight, columns);
    const C* weight = weights.read(0);
    for (int64_t row = begin; row < end; ++row) {
      const C* x = input.read(row);
      if (args.residual.data != nullptr) {
        residual.read(row);
        addToRow(residual.write(row), x, columns);
        residual.wrote(row);
        x = residual.read(row); // rounded to its own type: what a later layer reads is what is normalised here
      }
      const A square = squaresOf(x, C(0), columns) / A(std::max(int64_t{1}, columns));
      const A rstd = A(1) / std::sqrt(square + A(args.eps));
      if (args.rstd != nullptr) {
        static_cast<C*>(args.rstd)[row] = C(rstd);
      }
      scaleAndWeigh(output.write(row), x, C(rstd), weight, columns);
      output.wrote(row);
    }
  }
};
// LITERALINCLUDE END: RMS NORM KERNEL

/// Adds one row to the sums of some columns.
template <class C, class A>
OPENREG_MULTIVERSION void addProducts(A* sums, const C* grad, const C* x, C rstd, int64_t count) {
  OPENREG_IVDEP // The sums are the kernel's own.
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += A(grad[i] * (x[i] * rstd));
  }
}

template <class C>
class RmsNormGradient {
  using A = Accumulator<C>;

 public:
  explicit RmsNormGradient(const RmsNormBackwardArgs& args) : args_(args) {
    if (args.gradWeight.data != nullptr) {
      blocks_ = (args.columns + kColumns - 1) / kColumns;
      parts_ = std::clamp(args.rows / kRows, int64_t{1}, kParts);
      sums_.resize(static_cast<size_t>(parts_ * args.columns));
    }
  }

  void run(orKernelContext& context) {
    if (args_.gradInput.data != nullptr) {
      loop<&RmsNormGradient::inputRows>(context, args_.rows, kGrain / std::max(int64_t{1}, args_.columns) + 1);
    }
    if (blocks_ > 0) {
      loop<&RmsNormGradient::sumColumns>(context, blocks_ * parts_, 1);
      joinParts();
    }
  }

 private:
  static constexpr int64_t kColumns = 128; ///< That are summed side by side.
  static constexpr int64_t kRows = 64;     ///< At least, in one part.
  static constexpr int64_t kParts = 8;     ///< At most. Not the number of threads: sums are the same with any.

  template <auto body>
  void loop(orKernelContext& context, int64_t count, int64_t grain) {
    context.parallelFor(
        &context, count, grain,
        [](void* state, int64_t begin, int64_t end) { (static_cast<RmsNormGradient*>(state)->*body)(begin, end); },
        this);
  }

  C rstd(int64_t row) const { return static_cast<const C*>(args_.rstd)[row]; }

  // LITERALINCLUDE START: RMS NORM GRADIENT
  /// With a = grad · weight: rstd · a − rstd³ · mean(a · x) · x
  void inputRows(int64_t begin, int64_t end) {
    const int64_t columns = args_.columns;
    RowBuffer<C> gradOutput(args_.gradOutput, columns), input(args_.input, columns), out(args_.gradInput, columns);
    RowBuffer<C> weights(args_.weight, columns);
    const C* weight = weights.read(0);
    std::vector<C> weighted(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const C* x = input.read(row);
      multiplyRows(weighted.data(), gradOutput.read(row), weight, columns);
      const A scale = rstd(row);
      const A mean = productsOf(x, C(0), weighted.data(), columns) / A(std::max(int64_t{1}, columns));
      combineRows(out.write(row), weighted.data(), C(scale), x, C(0), C(-mean * scale * scale * scale), C(0), columns);
      out.wrote(row);
    }
  }

  /// The weight's gradient: of one part of the rows, the sums of grad · x · rstd in some columns.
  void sumColumns(int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t part = piece / blocks_;
      const int64_t column = piece % blocks_ * kColumns;
      const int64_t count = std::min(kColumns, args_.columns - column);
      NumberRows gradOutput = columnsFrom(args_.gradOutput, column), input = columnsFrom(args_.input, column);
      RowBuffer<C> grads(gradOutput, count), inputs(input, count);
      for (int64_t row = args_.rows * part / parts_; row < args_.rows * (part + 1) / parts_; ++row) {
        addProducts(sums(part) + column, grads.read(row), inputs.read(row), rstd(row), count);
      }
    }
  }
  // LITERALINCLUDE END: RMS NORM GRADIENT

  static NumberRows columnsFrom(NumberRows rows, int64_t column) {
    rows.data = static_cast<char*>(rows.data) + column * rows.column;
    return rows;
  }

  A* sums(int64_t part) { return sums_.data() + part * args_.columns; }

  void joinParts() {
    RowBuffer<C> out(args_.gradWeight, args_.columns);
    C* to = out.write(0);
    for (int64_t i = 0; i < args_.columns; ++i) {
      A sum(0);
      for (int64_t part = 0; part < parts_; ++part) {
        sum += sums(part)[i];
      }
      to[i] = C(sum);
    }
    out.wrote(0);
  }

  const RmsNormBackwardArgs& args_;
  int64_t blocks_ = 0;  ///< Of columns.
  int64_t parts_ = 1;   ///< Of rows; each has sums of its own.
  std::vector<A> sums_; ///< Of all parts.
};

template <class C>
struct RmsNormBackward {
  void operator()(const RmsNormBackwardArgs& args, orKernelContext& context) const {
    RmsNormGradient<C>(args).run(context);
  }
};

const RegisterTypes<"rms_norm", RmsNormArgs, RmsNorm, float, double> kForward;
const RegisterTypes<"rms_norm_backward", RmsNormBackwardArgs, RmsNormBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
