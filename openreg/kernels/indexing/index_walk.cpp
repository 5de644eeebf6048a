// A walk through the elements that index tensors point to.
#include "kernels/indexing/index_walk.h"

#include <cstdio>

namespace openreg::kernels {

void failOutOfRange(orKernelContext& context, int64_t index, int64_t dimension, int64_t size) {
  char text[128];
  std::snprintf(
      text, sizeof(text), "index %lld is out of bounds for dimension %lld with size %lld",
      static_cast<long long>(index), static_cast<long long>(dimension), static_cast<long long>(size));
  context.fail(&context, orErrorAssert, text);
}

} // namespace openreg::kernels
