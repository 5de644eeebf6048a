// How the sums of all columns of many rows are shared among threads: the rows in parts, and of each part some columns
// at a time.
#pragma once

#include <algorithm>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/normalization/normalization.h"

namespace openreg::kernels {

/// The number of parts depends on that of the rows alone, and not on how many threads there are: so the sums are the
/// same in each run.
class ColumnSums {
 public:
  ColumnSums(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), blocks_((columns + kColumns - 1) / kColumns),
        parts_(std::clamp(rows / kRows, int64_t{1}, kSummedParts)) {}

  /// Some columns of one part of the rows.
  struct Piece {
    int64_t part;
    int64_t column; ///< The first.
    int64_t columns;
    int64_t beginRow;
    int64_t endRow;
  };

  int64_t parts() const { return parts_; }
  int64_t pieces() const { return blocks_ * parts_; }
  Piece piece(int64_t number) const {
    const int64_t part = number / blocks_;
    const int64_t column = number % blocks_ * kColumns;
    return {part, column, std::min(kColumns, columns_ - column), rows_ * part / parts_, rows_ * (part + 1) / parts_};
  }

 private:
  static constexpr int64_t kColumns = 128; ///< That are summed side by side.
  static constexpr int64_t kRows = 64;     ///< At least, in one part.

  int64_t rows_;
  int64_t columns_;
  int64_t blocks_; ///< Of columns.
  int64_t parts_;  ///< Of rows; each has sums of its own.
};

/// What the phases of a norm's derivative have in common.
/// @tparam sumsOfColumn How many each column has: in a part, all first ones, then all second ones.
template <class Args, int sumsOfColumn>
class NormGradient : public LoopOver<Args> {
 public:
  static const char* refusal(const Args& args) {
    return args.wantsSums() && args.sums == nullptr ? "sums is null; expected room for the sums of all columns"
                                                    : nullptr;
  }
  explicit NormGradient(const Args& args) : LoopOver<Args>(args), columnSums_(args.rows, args.columns) {}

 protected:
  /// The first column's first sum, of one part of the rows.
  double* sums(int64_t part) const { return this->args_.sums + part * sumsOfColumn * this->args_.columns; }

  /// A column's sum of all parts, in their order.
  double total(int64_t column, int number = 0) const {
    double total = 0;
    for (int64_t part = 0; part < columnSums_.parts(); ++part) {
      total += sums(part)[number * this->args_.columns + column];
    }
    return total;
  }

  ColumnSums columnSums_;
};

/// The phase that derives the input, a row at a time. @tparam Gradient A NormGradient.
template <class Gradient>
class RowsOf : public Gradient {
 public:
  using Gradient::Gradient;
  int64_t count() const { return this->args_.wantsInput() ? this->args_.rows : 0; }
  int64_t grain() const { return grainOfRows(this->args_.columns); }
};

/// The phase that sums, a piece at a time.
template <class Gradient>
class PiecesOf : public Gradient {
 public:
  using Gradient::Gradient;
  int64_t count() const { return this->args_.wantsSums() ? this->columnSums_.pieces() : 0; }
  int64_t grain() const { return 1; }
};

/// The phase that joins the sums of all parts, a column at a time.
template <class Gradient>
class ColumnsOf : public Gradient {
 public:
  using Gradient::Gradient;
  int64_t count() const { return this->args_.wantsSums() ? this->args_.columns : 0; }
  int64_t grain() const { return kGrain / this->columnSums_.parts(); }
};

} // namespace openreg::kernels
