// Rows of numbers of any type, as a kernel reads and writes them: in place if they are what it computes in.
#pragma once

#include <vector>

#include "kernels/loop/block.h"
#include "kernels/normalization/rms_norm.h"

namespace openreg::kernels {

/// Room for one row in the type that is computed in, taken only if some row isn't there already.
template <class C>
class RowBuffer {
 public:
  RowBuffer(const NumberRows& rows, int64_t columns)
      : rows_(rows), columns_(columns), direct_(rows.dtype == kDTypeOf<C> && rows.column == sizeof(C)) {
    if (rows.data != nullptr && !direct_) {
      buffer_.resize(static_cast<size_t>(columns));
    }
  }

  /// A row's numbers.
  const C* read(int64_t row) {
    if (!direct_) {
      load(rows_.dtype, at(row), rows_.column, columns_, buffer_.data());
      return buffer_.data();
    }
    return reinterpret_cast<const C*>(at(row));
  }

  /// Where a row's numbers are to be written; wrote() brings them where they belong.
  C* write(int64_t row) { return direct_ ? reinterpret_cast<C*>(at(row)) : buffer_.data(); }

  void wrote(int64_t row) const {
    if (!direct_) {
      store(rows_.dtype, at(row), rows_.column, columns_, buffer_.data());
    }
  }

 private:
  char* at(int64_t row) const { return static_cast<char*>(rows_.data) + row * rows_.row; }

  const NumberRows& rows_;
  int64_t columns_;
  bool direct_;
  std::vector<C> buffer_;
};

} // namespace openreg::kernels
