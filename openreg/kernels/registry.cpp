// The list of kernels.
#include "registry.h"

#include <string>
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

const char* fullName(const char* name, ComputeType type) {
  return (new std::string(std::string(name) + "." + computeTypeName(type)))->c_str();
}

void add(const orKernelEntry& entry) {
  entries().push_back(entry);
}

} // namespace openreg::kernels
