// Arguments of the kernels "rms_norm". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

#include "kernels/launch/dtype.h"
#include "kernels/loop/row_of_elements.h"
#include "kernels/normalization/normalization.h"

namespace openreg::kernels {

/// Rows of numbers where they are, of the type that they have there: the kernel converts. So a half needs no launch of
/// its own that makes a float of it.
struct NumberRows {
  void* data;     ///< Null: not wanted, or not there.
  int64_t row;    ///< Bytes from one row to the next.
  int64_t column; ///< Bytes from one number to the next.
  DType dtype;
  int32_t unused;

  /// `columns` numbers of one of them, from `first` on.
  RowOfElements at(int64_t number, int64_t columns, int64_t first = 0) const {
    return {static_cast<char*>(data) + number * row + first * column, dtype, column, columns};
  }
};

/// "rms_norm": each row of numbers gets the root mean square 1, and each column a factor.
struct RmsNormArgs {
  NumberRows input;
  NumberRows residual; ///< Becomes residual + input, and that is what is normalised. May be null.
  NumberRows weight;   ///< One row.
  NumberRows output;   ///< May be where the input is, row by row.
  void* rstd;          ///< Of each row 1 / root mean square, in the type that is computed in; written. May be null.
  int64_t rows;
  int64_t columns;
  double eps; ///< Added to the mean of the squares.
};

/// "rms_norm_backward".
struct RmsNormBackwardArgs {
  NumberRows gradOutput;
  NumberRows input;
  NumberRows weight;     ///< One row.
  NumberRows gradInput;  ///< Written. May be null.
  NumberRows gradWeight; ///< One row, written. May be null.
  void* rstd;
  double* sums; ///< Room for kSummedParts × columns, if the weight's gradient is wanted.
  int64_t rows;
  int64_t columns;

  bool wantsInput() const { return gradInput.data != nullptr; }
  bool wantsSums() const { return gradWeight.data != nullptr; }
};

} // namespace openreg::kernels
