// Which files a source consists of.
#include "sources.h"

#include <vector>

namespace openreg::cuda {

std::string_view textOf(std::string_view name) {
  for (const SourceFile& file : sourceFiles()) {
    if (file.name == name) {
      return file.text;
    }
  }
  return {};
}

std::map<std::string_view, std::string_view> withIncluded(std::string_view name) {
  constexpr std::string_view kInclude = "\n#include \"";
  std::map<std::string_view, std::string_view> found;
  std::vector<std::string_view> waiting{name};
  while (!waiting.empty()) {
    const std::string_view next = waiting.back();
    waiting.pop_back();
    const auto [file, isNew] = found.try_emplace(next, textOf(next));
    const std::string_view text = file->second;
    for (size_t at = isNew ? text.find(kInclude) : text.npos; at != text.npos; at = text.find(kInclude, at)) {
      at += kInclude.size();
      waiting.push_back(text.substr(at, text.find('"', at) - at));
    }
  }
  return found;
}

} // namespace openreg::cuda
