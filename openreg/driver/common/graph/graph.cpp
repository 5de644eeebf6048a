// A graph as a picture.
#include "graph.h"

#include <cstdio>
#include <string>

#include "common/refused.h"

namespace openreg {

namespace {

/// What stands in a node's box.
std::string labelOf(const GraphWork& work) {
  const auto bytes = [](const char* what, size_t size) { return what + (" of " + std::to_string(size) + " bytes"); };
  return std::visit(
      Overloaded{
          [](const KernelWork& it) { return std::string(it.name); },
          [&](const CopyWork& it) { return bytes("memcpy", it.size); },
          [&](const FillWork& it) { return bytes("memset", it.size); },
          [](const HostWork&) { return std::string("host function"); }},
      work);
}

/// As a string of the language that Graphviz reads.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    result += letter == '"' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  }
  return result + "\"";
}

} // namespace

void refuseUnpinned(size_t node, const void* ptr) {
  throw Refused{orDriverError(
      orErrorInvalidValue,
      "argument 'exec' has a copy, node %zu, of pinned memory at %p that was freed; expected it to stay allocated",
      node, ptr)};
}

bool writeDot(const GraphNodes& nodes, const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
  if (file == nullptr) {
    return false;
  }
  bool written = std::fputs("digraph graph_ {\n  node [shape=box]\n", file.get()) >= 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string label = quoted(std::to_string(i) + ": " + labelOf(nodes[i]->work));
    written = written && std::fprintf(file.get(), "  n%zu [label=%s]\n", i, label.c_str()) > 0;
    for (const size_t before : nodes[i]->after) {
      written = written && std::fprintf(file.get(), "  n%zu -> n%zu\n", before, i) > 0;
    }
  }
  return written && std::fputs("}\n", file.get()) >= 0 && std::fflush(file.get()) == 0;
}

} // namespace openreg
