// Arguments of the kernels of recurrent cells. Plain data: the launcher includes this file, too. All arrays are
// contiguous and of the kernel's compute type. A row of gates is that of one sample: as many numbers for each gate as
// the state has, gate by gate.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// "lstm_cell": gates input, forget, cell, output. What it keeps for the gradient are the gates' values, in that order.
struct LstmCellArgs {
  void* inputGates;
  void* hiddenGates;
  void* inputBias;  ///< Of one row; or null.
  void* hiddenBias; ///< Null if and only if the other one is.
  void* cell;
  void* newHidden; ///< Written, as are
  void* newCell;
  void* kept;
  int64_t rows;
  int64_t size; ///< Of a row of the state.
};

/// "lstm_cell_backward".
struct LstmCellBackwardArgs {
  void* gradHidden; ///< Or null.
  void* gradCell;   ///< Or null.
  void* cell;
  void* newCell;
  void* kept;
  void* gradGates; ///< Written, as is
  void* gradOldCell;
  int64_t rows;
  int64_t size;
};

/// "gru_cell": gates reset, update, new. Kept: their values, the hidden state, and the new gate's hidden part.
struct GruCellArgs {
  void* inputGates;
  void* hiddenGates;
  void* inputBias;  ///< Of one row; or null.
  void* hiddenBias; ///< Null if and only if the other one is.
  void* hidden;
  void* newHidden; ///< Written, as is
  void* kept;
  int64_t rows;
  int64_t size;
};

/// "gru_cell_backward".
struct GruCellBackwardArgs {
  void* gradHidden;
  void* kept;
  void* gradInputGates; ///< Written, as are
  void* gradHiddenGates;
  void* gradOldHidden;
  int64_t rows;
  int64_t size;
};

} // namespace openreg::kernels
