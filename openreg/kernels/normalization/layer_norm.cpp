// The kernels "layer_norm" and "layer_norm_backward": a row at a time, and the gradients of weight and bias some
// columns at a time.
#include <cmath>

#include "kernels/loop/loops.h"
#include "kernels/normalization/column_sums.h"
#include "kernels/normalization/row_sums.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

template <class C>
class LayerNorm : public LoopOver<LayerNormArgs> {
  using A = Accumulator<C>;

 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.rows; }
  int64_t grain() const { return grainOfRows(args_.columns); }
  void operator()(int64_t begin, int64_t end) const {
    const int64_t columns = args_.columns;
    const C* weight = static_cast<const C*>(args_.weight);
    const C* bias = static_cast<const C*>(args_.bias);
    for (int64_t row = begin; row < end; ++row) {
      const C* input = static_cast<const C*>(args_.input) + row * columns;
      const A mean = sumOf(input, columns) / A(columns);
      const A rstd = A(1) / std::sqrt(squaresOf(input, C(mean), columns) / A(columns) + A(args_.eps));
      static_cast<C*>(args_.mean)[row] = C(mean);
      static_cast<C*>(args_.rstd)[row] = C(rstd);
      normalizeRow(static_cast<C*>(args_.output) + row * columns, input, C(mean), C(rstd), weight, bias, columns);
    }
  }
};

/// A column has two sums: of weight's gradient and of bias's.
template <class C>
class LayerNormGradient : public NormGradient<LayerNormBackwardArgs, 2> {
 public:
  using NormGradient::NormGradient;

 protected:
  using A = Accumulator<C>;

  C* row(void* array, int64_t row) const { return static_cast<C*>(array) + row * args_.columns; }
  A mean(int64_t row) const { return A(static_cast<const C*>(args_.mean)[row]); }
  A rstd(int64_t row) const { return A(static_cast<const C*>(args_.rstd)[row]); }
};

template <class C>
class LayerNormInputGradient : public RowsOf<LayerNormGradient<C>> {
  using Base = RowsOf<LayerNormGradient<C>>;
  using Base::args_, typename Base::A;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    const int64_t columns = args_.columns;
    WeightedRow<C> weighted;
    for (int64_t i = begin; i < end; ++i) {
      const C* input = this->row(args_.input, i);
      const C* gradOutput = this->row(args_.gradOutput, i);
      const auto grad = weighted.of(gradOutput, static_cast<const C*>(args_.weight), columns);
      const A mean = this->mean(i);
      const A rstd = this->rstd(i);
      const A sum = sumOf(grad, columns) / A(columns);
      const A slope = -productsOf(input, C(mean), grad, columns) / A(columns) * rstd * rstd * rstd;
      combineRows(this->row(args_.gradInput, i), grad, C(rstd), input, C(mean), C(slope), C(-rstd * sum), columns);
    }
  }
};

template <class C>
class LayerNormColumnSums : public PiecesOf<LayerNormGradient<C>> {
  using Base = PiecesOf<LayerNormGradient<C>>;
  using Base::args_;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t number = begin; number < end; ++number) {
      const ColumnSums::Piece piece = this->columnSums_.piece(number);
      double* weights = this->sums(piece.part) + piece.column;
      double* biases = weights + args_.columns;
      clearSums(weights, piece.columns);
      clearSums(biases, piece.columns);
      for (int64_t i = piece.beginRow; i < piece.endRow; ++i) {
        const C* grad = this->row(args_.gradOutput, i) + piece.column;
        const C* input = this->row(args_.input, i) + piece.column;
        addProductsAndRow(weights, biases, grad, input, C(this->mean(i)), C(this->rstd(i)), piece.columns);
      }
    }
  }
};

template <class C>
class LayerNormJoinedSums : public ColumnsOf<LayerNormGradient<C>> {
  using Base = ColumnsOf<LayerNormGradient<C>>;
  using Base::args_;

 public:
  using Base::Base;
  void operator()(int64_t begin, int64_t end) const {
    for (int number = 0; number < 2; ++number) { // both at once would be more rows than the cache holds side by side
      C* to = static_cast<C*>(number == 0 ? args_.gradWeight : args_.gradBias);
      for (int64_t i = begin; to != nullptr && i < end; ++i) {
        to[i] = C(this->total(i, number));
      }
    }
  }
};

// LITERALINCLUDE START: LAYER NORM PHASES
template <Name name, class C>
using LayerNormBackward = Phases<
    name,
    LayerNormBackwardArgs,
    RowKernel<LayerNormBackwardArgs, LayerNormInputGradient<C>>,
    RowKernel<LayerNormBackwardArgs, LayerNormColumnSums<C>>,
    LoopKernel<LayerNormBackwardArgs, LayerNormJoinedSums<C>>>;
// LITERALINCLUDE END: LAYER NORM PHASES

const RowLoops<"layer_norm", LayerNormArgs, LayerNorm, float, double> kForward;
const LayerNormBackward<"layer_norm_backward.float", float> kBackward;
const LayerNormBackward<"layer_norm_backward.double", double> kBackwardDouble;

} // namespace

} // namespace openreg::kernels
