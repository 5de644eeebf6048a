// Frames about graphs.
#include <string>
#include <utility>

#include "service.h"

namespace openreg::process {

/// The nodes of the graph that a frame names in place of a stream; null if it names a stream.
GraphNodes* Service::graphOf(uint32_t stream) {
  if ((stream & kGraph) == 0) {
    return nullptr;
  }
  const auto it = graphs_.find(stream & ~kGraph);
  if (it == graphs_.end() || it->second.launched) {
    throw Garbled(
        "a frame adds to graph " + std::to_string(stream & ~kGraph) + ", which does not exist or was launched already");
  }
  return &it->second.program->nodes;
}

void Service::addNode(GraphNodes& nodes, GraphWork&& work) {
  nodes.push_back(std::make_shared<const GraphNode>(std::move(work), std::vector<size_t>{}));
}

void Service::addCopy(GraphNodes& nodes, const CopyFrame& frame) {
  const auto reach = [&](Where where, uint64_t at) {
    const uint64_t all = pinnedView_.bytes();
    if (where == Where::Pinned && (at > all || frame.size > all - at)) {
      throw Garbled("a frame names " + std::to_string(frame.size) + " bytes beyond the pinned range");
    }
    return where == Where::Pinned ? pinnedView_.begin() + at : reinterpret_cast<char*>(at);
  };
  addNode(
      nodes, CopyWork{
                 .dst = reach(frame.toWhere, frame.to),
                 .src = reach(frame.fromWhere, frame.from),
                 .size = frame.size,
                 .toHost = frame.toWhere == Where::Pinned,
                 .fromHost = frame.fromWhere == Where::Pinned});
}

void Service::onGraphCreate(const GraphFrame& frame) {
  if (frame.graph >= kGraph || !graphs_.try_emplace(frame.graph).second) {
    throw Garbled("a frame creates graph " + std::to_string(frame.graph) + ", which there is or cannot be");
  }
}

void Service::onGraphLaunch(const GraphLaunchFrame& frame) {
  const auto graph = graphs_.find(frame.graph);
  if (graph == graphs_.end()) {
    throw Garbled("a frame launches graph " + std::to_string(frame.graph) + ", which does not exist");
  }
  graph->second.launched = true;
  std::vector<std::shared_ptr<const void>> held;
  uint64_t leaving = 0; // Bytes of a copy whose pinned memory is not open.
  forEachHostEnd(graph->second.program->nodes, [&](size_t, const char* ptr, size_t size) {
    if (const Pin* pin = pinAt(static_cast<uint64_t>(ptr - pinnedView_.begin()), size)) {
      held.push_back(pin->uses);
    } else {
      leaving = size;
    }
  });
  if (leaving != 0) {
    return refuse(orErrorIllegalAddress, "a graph's copy of " + std::to_string(leaving) + " bytes leaves its memory");
  }
  sim::Stream& it = stream(frame.stream);
  const Numbered number(frame.correlation);
  it.queueGraph(it.handle.load(), graph->second.program, std::move(held));
}

void Service::onGraphDestroy(const GraphFrame& frame) {
  if (graphs_.erase(frame.graph) == 0) {
    throw Garbled("a frame destroys graph " + std::to_string(frame.graph) + ", which does not exist");
  }
}

} // namespace openreg::process
