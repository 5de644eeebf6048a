// The empty kernel, in a module of its own: also an example of one.
#include "openreg_kernel.h"

namespace {
void empty(const void*, orKernelContext*) {}
constexpr orKernelEntry kKernels[] = {{"empty", &empty, 0}};
} // namespace

const orKernelEntry* orGetKernels(size_t* count) {
  *count = sizeof(kKernels) / sizeof(*kKernels);
  return kKernels;
}
