// What a graph remembers of captured work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "openreg.h"

namespace openreg {

/// A kernel and its arguments.
struct KernelWork {
  uint64_t kernel = 0; ///< Its handle.
  const char* name = "";
  std::vector<char> args;
  std::vector<orPointerArg> pointers;
};

/// A copy. Each end is device memory, or pinned memory of the host.
struct CopyWork {
  char* dst = nullptr;
  const char* src = nullptr;
  size_t size = 0;
  bool toHost = false;
  bool fromHost = false;
  int peer = -1; ///< Of a copy between two devices: the one that is not the graph's.
};

/// A fill of device memory.
struct FillWork {
  char* dst = nullptr;
  int value = 0;
  size_t size = 0;
};

/// A function of the host.
struct HostWork {
  orHostFn_t function = nullptr;
  void* userData = nullptr;
};

using GraphWork = std::variant<KernelWork, CopyWork, FillWork, HostWork>;

/// A piece of work, and the numbers of those it comes after.
struct GraphNode {
  GraphWork work;
  std::vector<size_t> after;
};

/// In the order of submission, in which each comes after all that it depends on. Nodes never change: who gives one
/// other arguments puts another node in its place, in a list of its own, so that launches under way keep theirs.
using GraphNodes = std::vector<std::shared_ptr<const GraphNode>>;

/// A visitor made of a function for each kind of work.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

/// Calls `visit(node, ptr, size)` for each end on the host of a graph's copies; `node` is the copy's number.
template <class Visit>
void forEachHostEnd(const GraphNodes& nodes, Visit visit) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const auto* copy = std::get_if<CopyWork>(&nodes[i]->work)) {
      if (copy->toHost) {
        visit(i, static_cast<const char*>(copy->dst), copy->size);
      }
      if (copy->fromHost) {
        visit(i, copy->src, copy->size);
      }
    }
  }
}

/// Refuses a launch for a node's pinned memory, which is none any more.
[[noreturn]] void refuseUnpinned(size_t node, const void* ptr);

/// Writes a graph for Graphviz; false, with errno, if the file cannot be written.
bool writeDot(const GraphNodes& nodes, const char* path);

} // namespace openreg
