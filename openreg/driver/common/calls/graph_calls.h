// Calls about captures and graphs.
#pragma once

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "calls.h"
#include "common/graph/capture.h"
#include "common/graph/graph_object.h"
#include "kernel_calls.h"

namespace openreg {

/// The driver's Device makes a Program of a graph's nodes (`instantiate`); its Stream queues one (`queueGraph`).
template <class Driver>
struct GraphCalls {
  using Given = openreg::Given<Driver>;

  static void streamBeginCapture(orStream_t stream, orStreamCaptureMode mode) {
    auto& it = Given::usedStream(stream);
    Given::all().captures.begin(it, number(stream), it.device().index, mode);
  }

  static void streamEndCapture(orStream_t stream, orGraph_t* graph) {
    *graph = nullptr;
    auto& it = Given::stream(stream);
    auto& device = it.device();
    auto nodes = std::make_shared<const GraphNodes>(Given::all().captures.end(it, number(stream)));
    require(device.use());
    *graph = handleOf<orGraph_t>(publish(Given::all().graphs, "graphs", device, std::move(nodes)));
  }

  static void streamGetCaptureInfo(orStream_t stream, orStreamCaptureStatus* status, uint64_t* id) {
    *status = Given::all().captures.status(Given::stream(stream), id);
  }

  static void threadExchangeStreamCaptureMode(orStreamCaptureMode* mode) { *mode = Captures::exchangeMode(*mode); }

  static void graphGetNodeCount(orGraph_t graph, size_t* count) { *count = nodesOf(graph)->size(); }

  static orError_t graphDebugDotPrint(orGraph_t graph, const char* path) {
    if (writeDot(*nodesOf(graph), path)) {
      return orSuccess;
    }
    return orDriverError(
        orErrorInvalidValue, "argument 'path' is '%s', which cannot be written: %s; expected the name of a file", path,
        std::strerror(errno));
  }

  static void graphDestroy(orGraph_t graph) { destroy(Given::all().graphs, graph); }

  static void graphInstantiate(orGraphExec_t* exec, orGraph_t graph) {
    *exec = nullptr;
    const auto nodes = nodesOf(graph);
    auto& device = *named(Given::all().graphs, graph).device.load();
    require(device.use());
    *exec = handleOf<orGraphExec_t>(
        publish(Given::all().graphExecs, "instantiated graphs", device, device.instantiate(*nodes)));
  }

  static void graphExecKernelNodeSetParams(
      orGraphExec_t exec,
      size_t node,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount) {
    auto& it = named(Given::all().graphExecs, exec);
    auto& device = *it.device.load();
    require(device.use());
    it.replace(number(exec), [&](const auto& program) {
      const GraphNodes& nodes = program->nodes;
      const auto* work = node < nodes.size() ? std::get_if<KernelWork>(&nodes[node]->work) : nullptr;
      if (work == nullptr) {
        throw Refused{orDriverError(
            orErrorInvalidValue, "argument 'node' is %zu; expected the index of a kernel node, in a graph of %zu nodes",
            node, nodes.size())};
      }
      KernelCalls<Driver>::requireArguments(
          named(Given::all().kernels, handleOf<orKernel_t>(work->kernel)), args, argsSize, pointers, pointerCount);
      auto changed = KernelCalls<Driver>::captured(work->kernel, work->name, args, argsSize, pointers, pointerCount);
      GraphNodes with = nodes; // A program of its own: launches that are queued have the one before.
      with[node] = std::make_shared<const GraphNode>(std::move(changed), nodes[node]->after);
      return device.instantiate(with);
    });
  }

  static void graphLaunch(orGraphExec_t exec, orStream_t stream) {
    auto& it = named(Given::all().graphExecs, exec);
    auto& on = Given::stream(stream);
    auto& device = on.device();
    if (it.device.load() != &device) {
      throw Refused{orDriverError(
          orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d, the graph's",
          device.index, it.device.load()->index)};
    }
    require(device.use());
    Given::all().captures.refuse(on, "a graph can't be part of another");
    on.queueGraph(number(stream), it.content(number(exec)));
  }

  static void graphExecDestroy(orGraphExec_t exec) { destroy(Given::all().graphExecs, exec); }

 private:
  static std::shared_ptr<const GraphNodes> nodesOf(orGraph_t graph) {
    return named(Given::all().graphs, graph).content(number(graph));
  }

  template <class Table, class Content>
  static uint64_t publish(Table& table, const char* what, auto& device, std::shared_ptr<const Content> content) {
    auto* it = table.acquire();
    if (it == nullptr) {
      throw Refused{
          orDriverError(orErrorMemoryAllocation, "there are too many %s; expected some to be destroyed first", what)};
    }
    it->open(device, std::move(content));
    return table.publish(*it);
  }

  template <class Table, class Handle>
  static void destroy(Table& table, Handle handle) {
    auto& it = named(table, handle);
    if (!it.close(number(handle))) {
      refuseHandle(static_cast<HandleKind>(number(handle) >> 56), number(handle));
    }
    table.release(it);
  }
};

} // namespace openreg
