// How the sums of all columns of many rows are shared among threads: the rows in parts, and of each part some columns
// at a time.
#pragma once

#include <algorithm>

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

} // namespace openreg::kernels
