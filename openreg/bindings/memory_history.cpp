// Python ↔ the history of device memory.
#include "module.h"

#include "memory/history/observers.h"
#include "memory/history/snapshot.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <map>

namespace openreg {
namespace {

namespace py = pybind11;

/// Gives each dictionary the frames of its context. A stack that many share is looked up once, and shared again.
class Frames {
 public:
  void giveTo(const py::dict& owner, const Context& context) {
    if (context != nullptr) {
      owners_[torch::getCapturedTracebackFromContext(context)].push_back(owner);
    } else {
      owner["frames"] = py::list();
    }
  }

  void lookUp() const {
    std::vector<torch::CapturedTraceback*> contexts;
    contexts.reserve(owners_.size());
    for (const auto& [context, owners] : owners_) {
      contexts.push_back(context);
    }
    const auto found = torch::symbolize(contexts);
    std::vector<py::dict> frames;
    frames.reserve(found.all_frames.size());
    for (const auto& frame : found.all_frames) {
      frames.emplace_back(
          py::arg("name") = frame.funcname, py::arg("filename") = frame.filename, py::arg("line") = frame.lineno);
    }
    for (size_t i = 0; i < contexts.size(); ++i) {
      py::list stack;
      for (const auto index : found.tracebacks[i]) {
        stack.append(frames[index]);
      }
      for (const auto& owner : owners_.at(contexts[i])) {
        owner["frames"] = stack;
      }
    }
  }

 private:
  std::map<torch::CapturedTraceback*, std::vector<py::dict>> owners_;
};

const char* name(TraceEntry::Action action) {
  switch (action) {
    case TraceEntry::ALLOC:
      return "alloc";
    case TraceEntry::FREE_REQUESTED:
      return "free_requested";
    case TraceEntry::FREE_COMPLETED:
      return "free_completed";
    case TraceEntry::SEGMENT_ALLOC:
      return "segment_alloc";
    case TraceEntry::SEGMENT_FREE:
      return "segment_free";
    case TraceEntry::SNAPSHOT:
      return "snapshot";
    case TraceEntry::OOM:
      return "oom";
    default:
      TORCH_INTERNAL_ASSERT(false, "this allocator does nothing else");
  }
}

py::dict blockDict(const c10::CachingDeviceAllocator::BlockInfo& info, size_t address, Frames& frames) {
  py::dict block;
  block["address"] = address;
  block["size"] = info.size;
  block["requested_size"] = info.requested_size;
  block["state"] = info.allocated ? "active_allocated" : info.active ? "active_pending_free" : "inactive";
  frames.giveTo(block, info.context_when_allocated);
  return block;
}

py::dict segmentDict(const c10::CachingDeviceAllocator::SegmentInfo& info, Frames& frames) {
  py::dict segment;
  segment["device"] = info.device;
  segment["address"] = info.address;
  segment["total_size"] = info.total_size;
  segment["allocated_size"] = info.allocated_size;
  segment["active_size"] = info.active_size;
  segment["requested_size"] = info.requested_size;
  segment["stream"] = reinterpret_cast<size_t>(info.stream);
  segment["segment_type"] = info.is_large ? "large" : "small";
  segment["segment_pool_id"] = info.owner_private_pool_id;
  segment["is_expandable"] = info.is_expandable;
  frames.giveTo(segment, info.context_when_allocated);
  py::list blocks;
  auto address = info.address;
  for (const auto& block : info.blocks) {
    blocks.append(blockDict(block, address, frames));
    address += block.size;
  }
  segment["blocks"] = blocks;
  return segment;
}

py::dict entryDict(const TraceEntry& info, Frames& frames) {
  py::dict entry;
  entry["action"] = name(info.action_);
  entry[info.action_ == TraceEntry::OOM ? "device_free" : "addr"] = info.addr_;
  entry["size"] = info.size_;
  entry["stream"] = reinterpret_cast<size_t>(info.stream_);
  entry["time_us"] = info.time_.t_;
  entry["pool_id"] = info.mempool_;
  frames.giveTo(entry, info.context_);
  return entry;
}

py::dict memorySnapshotDict() {
  const auto all = memorySnapshot();
  Frames frames;
  py::list segments;
  for (const auto& segment : all.segments) {
    segments.append(segmentDict(segment, frames));
  }
  py::list traces;
  for (const auto& history : all.histories) {
    py::list trace;
    for (const auto& entry : history) {
      trace.append(entryDict(entry, frames));
    }
    traces.append(trace);
  }
  frames.lookUp();
  return py::dict(py::arg("segments") = segments, py::arg("device_traces") = traces);
}

void recordMemoryHistoryFor(bool enabled, int stacks, bool nativeFrames, size_t maxEntries, bool forget) {
  recordMemoryHistory({enabled, static_cast<RecordContext>(stacks), nativeFrames, maxEntries}, forget);
}

// The function is kept for ever, as the observer is. Its exception must not take the place of OutOfMemoryError.
void attachPythonObserver(py::function function) {
  auto* const kept = function.release().ptr();
  attachOutOfMemoryObserver([kept](c10::DeviceIndex device, size_t asked, size_t limit, size_t free) {
    const py::gil_scoped_acquire gil;
    try {
      (void)py::reinterpret_borrow<py::function>(kept)(device, asked, limit, free);
    } catch (py::error_already_set& error) {
      error.restore();
      PyErr_WriteUnraisable(kept);
    }
  });
}

const Binding memoryHistory([](py::module_& module) {
  module.def("_memory_snapshot", torch::wrap_pybind_function(memorySnapshotDict));
  module.def(
      "_record_memory_history", torch::wrap_pybind_function(recordMemoryHistoryFor), py::arg("enabled"),
      py::arg("stacks"), py::arg("native_frames"), py::arg("max_entries"), py::arg("forget"));
  module.def("_attach_out_of_memory_observer", torch::wrap_pybind_function(attachPythonObserver), py::arg("observer"));
});

} // namespace
} // namespace openreg
