// Walks through all elements that index tensors point to, shared among threads.
#pragma once

#include "kernels/indexing/index_walk.h"

namespace openreg::kernels {

/// Uses all elements, in any number of threads: for kernels that read where the indices point.
void forEachRead(const IndexArgs& args, orKernelContext& context, UseIndexRun use);

/// Uses all elements so that each destination belongs to one thread, and the results do not depend on how many there
/// are: for kernels that write where the indices point.
void forEachWritten(const IndexArgs& args, orKernelContext& context, UseIndexRun use);

/// The same for kernels that put each element in the place of what is there: of several with one destination the last
/// stays.
inline void forEachReplaced(const IndexArgs& args, orKernelContext& context, UseIndexRun use) {
  forEachWritten(args, context, use);
}

} // namespace openreg::kernels
