// The list of kernels.
#include "registry.h"

#include <vector>

namespace openreg::kernels {

namespace {

/// A function's own static, so that it exists whichever file registers first; never destroyed, as kernels may run last.
std::vector<orKernelEntry>& entries() {
  static auto& list = *new std::vector<orKernelEntry>;
  return list;
}

} // namespace

std::span<const orKernelEntry> registered() {
  return entries();
}

void add(const orKernelEntry& entry) {
  entries().push_back(entry);
}

} // namespace openreg::kernels
