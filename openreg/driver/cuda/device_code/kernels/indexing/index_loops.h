// All elements that index tensors point to, on a GPU: a thread takes one at a time. There is no forEachWritten: it
// keeps an order.
#pragma once

#include "kernels/indexing/index_error.h"
#include "kernels/indexing/index_run.h"
#include "kernels/indexing/indexing.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Uses all elements, each as a run of one.
template <class Use>
void forEachRead(const IndexArgs& args, orKernelContext& context, Use use) {
  context.forEach(elementCount(args.dims, args.sizes), [&](int64_t element) {
    int64_t at[kMaxDims];
    char* dense = static_cast<char*>(args.dense);
    char* indexed = static_cast<char*>(args.indexed);
    for (int i = 0; i < args.dims; ++i) {
      at[i] = element % args.sizes[i];
      element /= args.sizes[i];
      dense += at[i] * args.denseStrides[i];
      indexed += at[i] * args.indexedStrides[i];
    }
    for (int k = 0; k < args.indices; ++k) {
      const IndexArg& index = args.index[k];
      const char* place = reinterpret_cast<const char*>(index.data);
      for (int i = 0; i < args.dims; ++i) {
        place += at[i] * index.strides[i];
      }
      const int64_t given = *reinterpret_cast<const int64_t*>(place);
      const int64_t value = given + (given < 0 && args.wraps != 0 ? index.size : 0);
      if (value < 0 || value >= index.size) {
        return failOutOfRange(context, given, index.dimension, index.size);
      }
      indexed += value * index.stride;
    }
    use(IndexRun{dense, indexed, 0, 0, nullptr, 1});
  });
}

/// The same: of several elements with one destination, one stays.
template <class Use>
void forEachReplaced(const IndexArgs& args, orKernelContext& context, Use use) {
  forEachRead(args, context, use);
}

} // namespace openreg::kernels
