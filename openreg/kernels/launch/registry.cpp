// The list of kernels.
#include "kernels/launch/registry.h"

#include <map>
#include <string_view>
#include <vector>

namespace openreg::kernels {

namespace {

/// A function's own static, so that it exists whichever file registers first; never destroyed, as kernels may run last.
std::vector<orKernelEntry>& entries() {
  static auto& list = *new std::vector<orKernelEntry>;
  return list;
}

std::map<std::string_view, const char*>& sources() {
  static auto& map = *new std::map<std::string_view, const char*>;
  return map;
}

} // namespace

std::span<const orKernelEntry> registered() {
  return entries();
}

const char* sourceOf(const char* name) {
  const auto found = sources().find(name);
  return found == sources().end() ? nullptr : found->second;
}

void add(const orKernelEntry& entry, const char* source) {
  entries().push_back(entry);
  // What stands before the folder of kernels is where the tree was built.
  const size_t inTree = source == nullptr ? std::string_view::npos : std::string_view(source).rfind("kernels/");
  if (inTree != std::string_view::npos) {
    sources()[entry.name] = source + inTree;
  }
}

} // namespace openreg::kernels
