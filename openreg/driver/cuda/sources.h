// The sources of kernels, which this library has in itself as text.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace openreg::cuda {

/// A file, by the name that others include it by.
struct SourceFile {
  const char* name;
  const char* text;
};

/// All of them, as they were when the library was built; of two with one name, the first is for GPUs.
std::span<const SourceFile> sourceFiles();

/// A file and all that it includes, also by way of others.
std::map<std::string_view, std::string_view> withIncluded(std::string_view name);

/// A file alone; empty if there is none of that name.
std::string_view textOf(std::string_view name);

} // namespace openreg::cuda
