// The kernels "rms_norm" and "rms_norm_backward": a row at a time, and the weight's gradient some columns at a time.
#include "kernels/normalization/rms_norm.h"

#include <cmath>

#include "kernels/loop/block.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"
#include "kernels/normalization/column_sums.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: RMS NORM KERNEL
template <class C>
class RmsNorm : public LoopOver<RmsNormArgs> {
  using A = Accumulator<C>;

 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.rows; }
  int64_t grain() const { return grainOfRows(args_.columns); }
  void operator()(int64_t begin, int64_t end) const {
    const int64_t columns = args_.columns;
    RowRoom<C> inputs, residuals, outputs, weights;
    const auto weight = weights.read(args_.weight.at(0, columns));
    for (int64_t row = begin; row < end; ++row) {
      auto x = inputs.read(args_.input.at(row, columns));
      if (args_.residual.data != nullptr) {
        const RowOfElements residual = args_.residual.at(row, columns);
        residuals.read(residual);
        addToRow(residuals.write(residual), x, columns);
        residuals.wrote(residual);
        x = residuals.read(residual); // rounded to its own type: what a later layer reads is what is normalised here
      }
      const A square = squaresOf(x, C(0), columns) / A(std::max(int64_t{1}, columns));
      const A rstd = A(1) / std::sqrt(square + A(args_.eps));
      if (args_.rstd != nullptr) {
        static_cast<C*>(args_.rstd)[row] = C(rstd);
      }
      const RowOfElements output = args_.output.at(row, columns);
      scaleAndWeigh(outputs.write(output), x, C(rstd), weight, columns);
      outputs.wrote(output);
    }
  }
};
// LITERALINCLUDE END: RMS NORM KERNEL

template <class C>
class RmsNormGradient : public NormGradient<RmsNormBackwardArgs, 1> {
 public:
  using NormGradient::NormGradient;

 protected:
  using A = Accumulator<C>;

  C rstd(int64_t row) const { return static_cast<const C*>(args_.rstd)[row]; }
};

// LITERALINCLUDE START: RMS NORM GRADIENT
/// With a = grad · weight: rstd · a − rstd³ · mean(a · x) · x
template <class C>
class RmsNormInputGradient : public RowsOf<RmsNormGradient<C>> {
  using Base = RowsOf<RmsNormGradient<C>>;
  using Base::args_, typename Base::A;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    const int64_t columns = args_.columns;
    RowRoom<C> grads, inputs, outputs, weights;
    WeightedRow<C> room;
    const auto weight = weights.read(args_.weight.at(0, columns));
    for (int64_t row = begin; row < end; ++row) {
      const auto x = inputs.read(args_.input.at(row, columns));
      const auto weighted = room.of(grads.read(args_.gradOutput.at(row, columns)), weight, columns);
      const A scale = this->rstd(row);
      const A mean = productsOf(x, C(0), weighted, columns) / A(std::max(int64_t{1}, columns));
      const RowOfElements out = args_.gradInput.at(row, columns);
      const C slope = C(-mean * scale * scale * scale);
      combineRows(outputs.write(out), weighted, C(scale), x, C(0), slope, C(0), columns);
      outputs.wrote(out);
    }
  }
};

/// The weight's gradient: of one part of the rows, the sums of grad · x · rstd in some columns.
template <class C>
class RmsNormColumnSums : public PiecesOf<RmsNormGradient<C>> {
  using Base = PiecesOf<RmsNormGradient<C>>;
  using Base::args_;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    RowRoom<C> grads, inputs;
    for (int64_t number = begin; number < end; ++number) {
      const ColumnSums::Piece piece = this->columnSums_.piece(number);
      double* sums = this->sums(piece.part) + piece.column;
      clearSums(sums, piece.columns);
      for (int64_t row = piece.beginRow; row < piece.endRow; ++row) {
        const auto grad = grads.read(args_.gradOutput.at(row, piece.columns, piece.column));
        const auto x = inputs.read(args_.input.at(row, piece.columns, piece.column));
        addProducts(sums, grad, x, C(0), this->rstd(row), piece.columns);
      }
    }
  }
};
// LITERALINCLUDE END: RMS NORM GRADIENT

template <class C>
class RmsNormJoinedSums : public ColumnsOf<RmsNormGradient<C>> {
  using Base = ColumnsOf<RmsNormGradient<C>>;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    C totals[kBlock];
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      for (int64_t i = 0; i < count; ++i) {
        totals[i] = C(this->total(first + i));
      }
      const RowOfElements weight = this->args_.gradWeight.at(0, count, first);
      store(weight.dtype, static_cast<char*>(weight.data), weight.stride, count, totals);
    }
  }
};

template <Name name, class C>
using RmsNormBackward = Phases<
    name,
    RmsNormBackwardArgs,
    RowKernel<RmsNormBackwardArgs, RmsNormInputGradient<C>>,
    RowKernel<RmsNormBackwardArgs, RmsNormColumnSums<C>>,
    LoopKernel<RmsNormBackwardArgs, RmsNormJoinedSums<C>>>;

const RowLoops<"rms_norm", RmsNormArgs, RmsNorm, float, double> kForward;
const RmsNormBackward<"rms_norm_backward.float", float> kBackward;
const RmsNormBackward<"rms_norm_backward.double", double> kBackwardDouble;

} // namespace

} // namespace openreg::kernels
