// The kernels "rms_norm" and "rms_norm_backward": a row at a time, and the weight's gradient some columns at a time.
#include "kernels/normalization/rms_norm.h"

#include <cmath>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"
#include "kernels/normalization/column_sums.h"
#include "kernels/normalization/weighted_rows.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: RMS NORM KERNEL
template <class C>
class RmsNorm {
  using A = Accumulator<C>;

 public:
  static const char* refusal(const RmsNormArgs& /*args*/) { return nullptr; }
  explicit RmsNorm(const RmsNormArgs& args) : args_(args) {}
  int64_t count() const { return args_.rows; }
  int64_t grain() const { return kGrain / std::max(int64_t{1}, args_.columns) + 1; }
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

 private:
  const RmsNormArgs& args_;
};
// LITERALINCLUDE END: RMS NORM KERNEL

/// What the phases of the backward kernel have in common.
template <class C>
class RmsNormGradient {
 public:
  static const char* refusal(const RmsNormBackwardArgs& args) {
    return args.gradWeight.data != nullptr && args.sums == nullptr
               ? "sums is null; expected room for the sums of all columns"
               : nullptr;
  }
  explicit RmsNormGradient(const RmsNormBackwardArgs& args) : args_(args), sums_(args.rows, args.columns) {}

 protected:
  using A = Accumulator<C>;

  C rstd(int64_t row) const { return static_cast<const C*>(args_.rstd)[row]; }
  double* sums(int64_t part) const { return args_.sums + part * args_.columns; }

  const RmsNormBackwardArgs& args_;
  ColumnSums sums_;
};

// LITERALINCLUDE START: RMS NORM GRADIENT
/// With a = grad · weight: rstd · a − rstd³ · mean(a · x) · x
template <class C>
class RmsNormInputGradient : RmsNormGradient<C> {
  using Base = RmsNormGradient<C>;
  using A = Base::A;
  using Base::args_;

 public:
  using Base::Base, Base::refusal;
  int64_t count() const { return args_.gradInput.data != nullptr ? args_.rows : 0; }
  int64_t grain() const { return kGrain / std::max(int64_t{1}, args_.columns) + 1; }
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
class RmsNormColumnSums : RmsNormGradient<C> {
  using Base = RmsNormGradient<C>;
  using Base::args_, Base::sums_;

 public:
  using Base::Base, Base::refusal;
  int64_t count() const { return args_.gradWeight.data != nullptr ? sums_.pieces() : 0; }
  int64_t grain() const { return 1; }
  void operator()(int64_t begin, int64_t end) const {
    RowRoom<C> grads, inputs;
    for (int64_t number = begin; number < end; ++number) {
      const ColumnSums::Piece piece = sums_.piece(number);
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

/// Of all parts: a row, which is written once.
template <class C>
class RmsNormJoinedSums : RmsNormGradient<C> {
  using Base = RmsNormGradient<C>;
  using Base::args_, Base::sums_;

 public:
  using Base::Base, Base::refusal;
  int64_t count() const { return args_.gradWeight.data != nullptr ? 1 : 0; }
  void operator()(int64_t /*begin*/, int64_t /*end*/) const {
    for (int64_t part = 1; part < sums_.parts(); ++part) {
      addToRow(this->sums(0), static_cast<const double*>(this->sums(part)), args_.columns);
    }
    RowRoom<C> room;
    const RowOfElements weight = args_.gradWeight.at(0, args_.columns);
    copySums(room.write(weight), static_cast<const double*>(this->sums(0)), args_.columns);
    room.wrote(weight);
  }
};

template <Name name, class C>
using RmsNormBackward = Phases<
    name,
    RmsNormBackwardArgs,
    RowKernel<RmsNormBackwardArgs, RmsNormInputGradient<C>>,
    RowKernel<RmsNormBackwardArgs, RmsNormColumnSums<C>>,
    RowKernel<RmsNormBackwardArgs, RmsNormJoinedSums<C>>>;

const RowLoops<"rms_norm", RmsNormArgs, RmsNorm, float, double> kForward;
const RmsNormBackward<"rms_norm_backward.float", float> kBackward;
const RmsNormBackward<"rms_norm_backward.double", double> kBackwardDouble;

} // namespace

} // namespace openreg::kernels
