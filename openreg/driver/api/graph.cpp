// Capture, and graphs.
#include "activity.h"
#include "launch_checks.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;

namespace {
void checkMode(Entry& entry, orStreamCaptureMode mode) {
  entry.require(
      mode >= orStreamCaptureModeGlobal && mode <= orStreamCaptureModeRelaxed, orErrorInvalidValue,
      "argument 'mode' is %d; expected an orStreamCaptureMode", static_cast<int>(mode));
}
} // namespace

orError_t orStreamBeginCapture(orStream_t stream, orStreamCaptureMode mode) {
  RecordedEntry entry("orStreamBeginCapture");
  checkMode(entry, mode);
  return entry.call(&OrDriver::StreamBeginCapture, stream, mode);
}

orError_t orStreamEndCapture(orStream_t stream, orGraph_t* graph) {
  RecordedEntry entry("orStreamEndCapture");
  entry.notNull(graph != nullptr, "graph", "where to put the handle");
  return entry.call(&OrDriver::StreamEndCapture, stream, graph);
}

orError_t orStreamGetCaptureInfo(orStream_t stream, orStreamCaptureStatus* status, uint64_t* id) {
  Entry entry("orStreamGetCaptureInfo");
  entry.notNull(status != nullptr, "status", "where to put the status");
  return entry.call(&OrDriver::StreamGetCaptureInfo, stream, status, id);
}

orError_t orThreadExchangeStreamCaptureMode(orStreamCaptureMode* mode) {
  Entry entry("orThreadExchangeStreamCaptureMode");
  entry.notNull(mode != nullptr, "mode", "the thread's new mode");
  if (entry.ok()) {
    checkMode(entry, *mode);
  }
  return entry.call(&OrDriver::ThreadExchangeStreamCaptureMode, mode);
}

orError_t orGraphGetNodeCount(orGraph_t graph, size_t* count) {
  Entry entry("orGraphGetNodeCount");
  entry.notNull(count != nullptr, "count", "where to put the number");
  return entry.call(&OrDriver::GraphGetNodeCount, graph, count);
}

orError_t orGraphDebugDotPrint(orGraph_t graph, const char* path) {
  Entry entry("orGraphDebugDotPrint");
  entry.notNull(path != nullptr, "path", "the name of a file");
  return entry.call(&OrDriver::GraphDebugDotPrint, graph, path);
}

orError_t orGraphDestroy(orGraph_t graph) {
  return openreg::api::release("orGraphDestroy", &OrDriver::GraphDestroy, graph);
}

orError_t orGraphInstantiate(orGraphExec_t* exec, orGraph_t graph) {
  RecordedEntry entry("orGraphInstantiate");
  entry.notNull(exec != nullptr, "exec", "where to put the handle");
  return entry.call(&OrDriver::GraphInstantiate, exec, graph);
}

orError_t orGraphExecKernelNodeSetParams(
    orGraphExec_t exec,
    size_t node,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount) {
  Entry entry("orGraphExecKernelNodeSetParams");
  openreg::api::checkArguments(entry, args, argsSize, pointers, pointerCount);
  return entry.call(&OrDriver::GraphExecKernelNodeSetParams, exec, node, args, argsSize, pointers, pointerCount);
}

orError_t orGraphLaunch(orGraphExec_t exec, orStream_t stream) {
  RecordedEntry entry("orGraphLaunch");
  return entry.queue(stream, &OrDriver::GraphLaunch, exec, stream);
}

orError_t orGraphExecDestroy(orGraphExec_t exec) {
  return openreg::api::release("orGraphExecDestroy", &OrDriver::GraphExecDestroy, exec);
}
