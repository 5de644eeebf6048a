// The list of kernels.
#include "kernels/launch/registry.h"

#include <deque>
#include <string>
#include <vector>

namespace openreg::kernels {

namespace {

/// A function's own static, so that it exists whichever file registers first; never destroyed, as kernels may run last.
std::vector<orKernelEntry>& entries() {
  static auto& list = *new std::vector<orKernelEntry>;
  return list;
}

/// The names that entries point to. A deque, because its elements stay where they are when it grows.
std::deque<std::string>& names() {
  static auto& list = *new std::deque<std::string>;
  return list;
}

} // namespace

std::span<const orKernelEntry> registered() {
  return entries();
}

const char* fullName(const char* name, ComputeType type) {
  return names().emplace_back(std::string(name) + "." + computeTypeName(type)).c_str();
}

void add(const orKernelEntry& entry) {
  entries().push_back(entry);
}

} // namespace openreg::kernels
