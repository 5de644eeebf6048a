// Arguments of the kernels "embedding_bag" and "embedding_bag_factors". Plain data: the launcher includes this file,
// too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// What becomes of the rows of a bag. The numbers are PyTorch's.
enum class BagMode : int64_t { Sum = 0, Mean = 1, Max = 2 };

/// Rows are looked up, and those of one bag put together. "embedding_bag_factors" is the derivative by the factors: it
/// writes these, and reads `bagOf` and in place of the output its gradient. Arrays are contiguous, numbers of the
/// kernel's compute type.
struct EmbeddingBagArgs {
  void* weight;           ///< rows × columns.
  const int64_t* indices; ///< `count` rows.
  const int64_t* offsets; ///< Where in `indices` each bag starts. The last ends with them.
  void* factors;          ///< Of each index, or null.
  void* output;           ///< bags × columns, written.
  int64_t* bagOf;         ///< Of each index, written.
  int64_t* sizes;         ///< Of each bag, without padding, written.
  int64_t* largest;       ///< Of each element of the output the row that it came from, written. Max only.
  int64_t rows;
  int64_t columns;
  int64_t bags;
  int64_t count;
  int64_t paddingIndex; ///< A row that counts for nothing; −1 for none.
  BagMode mode;
};

} // namespace openreg::kernels
