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

/// What a driver that compiles kernels itself has to know of one.
struct DeviceForm {
  const char* source;
  int phases;
};

std::map<std::string_view, DeviceForm>& deviceForms() {
  static auto& map = *new std::map<std::string_view, DeviceForm>;
  return map;
}

} // namespace

std::span<const orKernelEntry> registered() {
  return entries();
}

const char* sourceOf(const char* name) {
  const auto found = deviceForms().find(name);
  return found == deviceForms().end() ? nullptr : found->second.source;
}

int phasesOf(const char* name) {
  const auto found = deviceForms().find(name);
  return found == deviceForms().end() ? 1 : found->second.phases;
}

void add(const orKernelEntry& entry, const char* source, int phases) {
  entries().push_back(entry);
  // What stands before the folder of kernels is where the tree was built.
  const size_t inTree = source == nullptr ? std::string_view::npos : std::string_view(source).rfind("kernels/");
  if (inTree != std::string_view::npos) {
    deviceForms()[entry.name] = {source + inTree, phases};
  }
}

} // namespace openreg::kernels
