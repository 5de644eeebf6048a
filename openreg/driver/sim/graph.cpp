// Runs graphs.
#include "graph.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "launch.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

/// One end of a copy, or what is filled, when its turn has come: device memory must be allocated still.
bool reach(const char* ptr, size_t size, bool onHost, Place& place) {
  if (onHost) {
    place.bytes = const_cast<char*>(ptr);
    return true;
  }
  const Device* owner = simulator().deviceOf(ptr);
  return owner != nullptr && place.resolveDevice(ptr, size, *owner);
}

void failReach(Device& device, const char* what, size_t size) {
  device.fail(
      orErrorIllegalAddress, "a graph's " + std::string(what) + " of " + std::to_string(size) + " bytes on device " +
                                 std::to_string(device.index) +
                                 " uses memory that was freed after the capture; expected it to stay allocated");
}

/// Does a node's work, and says in `record` what that was. False if it was not done.
class Runner {
 public:
  Runner(Stream& stream, orActivityRecord& record) : stream_(stream), record_(record) {}

  bool operator()(const KernelWork& work) {
    const Kernel* kernel = simulator().kernels.find(work.kernel);
    if (kernel == nullptr) {
      return false; // The device is being reset.
    }
    alignas(16) std::array<char, OPENREG_MAX_ARGUMENT_BYTES> args; // The run writes to them.
    std::ranges::copy(work.args, args.begin());
    record_.kind = orActivityKernel;
    record_.name = work.name;
    return runKernel(stream_, *kernel->entry.load(std::memory_order_relaxed), args.data(), work.pointers);
  }

  bool operator()(const CopyWork& work) {
    Place dst;
    Place src;
    if (!reach(work.dst, work.size, work.toHost, dst) || !reach(work.src, work.size, work.fromHost, src)) {
      failReach(stream_.device(), "copy", work.size);
      return false;
    }
    return runCommand(CopyCommand(std::move(dst), std::move(src), work.size, work.peer));
  }

  bool operator()(const FillWork& work) {
    Place dst;
    if (!reach(work.dst, work.size, /*onHost=*/false, dst)) {
      failReach(stream_.device(), "fill", work.size);
      return false;
    }
    return runCommand(FillCommand(std::move(dst), work.value, work.size));
  }

  bool operator()(const HostWork& work) {
    work.function(work.userData);
    record_.kind = orActivityHostFunction;
    record_.name = "host function";
    return true;
  }

 private:
  template <class C>
  bool runCommand(C&& command) {
    command.correlation = 1; // Becomes 0 if it isn't done.
    command.run(stream_);
    command.describeWork(record_);
    return command.correlation != 0;
  }

  Stream& stream_;
  orActivityRecord& record_;
};

} // namespace

// LITERALINCLUDE START: GRAPH COMMAND
void GraphCommand::run(Stream& stream) {
  Device& device = stream.device();
  for (const auto& node : program_->nodes) {
    if (device.failure.exists()) {
      return;
    }
    orActivityRecord record = workOf(orActivityKernel, "");
    record.startNs = correlation != 0 ? nowNs() : 0;
    const bool done = std::visit(Runner(stream, record), node->work);
    if (correlation != 0 && done) [[unlikely]] {
      record.device = device.index;
      record.stream = handleOf<orStream_t>(stream.given());
      record.correlation = correlation;
      record.endNs = nowNs();
      simulator().activity.deliver(record);
    }
  }
}
// LITERALINCLUDE END: GRAPH COMMAND

void Stream::queueGraph(uint64_t expected, const std::shared_ptr<const Program>& program) {
  std::vector<std::shared_ptr<const void>> held;
  forEachHostEnd(program->nodes, [&](size_t node, const char* ptr, size_t size) {
    auto use = std::make_shared<Pinned::Use>(simulator().pinned().use(ptr, size, device()));
    if (!*use) {
      refuseUnpinned(node, ptr);
    }
    held.push_back(std::move(use));
  });
  queueGraph(expected, program, std::move(held));
}

void Stream::queueGraph(
    uint64_t expected, const std::shared_ptr<const Program>& program, std::vector<std::shared_ptr<const void>> held) {
  const Position end = submit<GraphCommand>(expected, program, std::move(held));
  noteVisits(end);
  for (const auto& node : program->nodes) {
    if (const auto* copy = std::get_if<CopyWork>(&node->work); copy != nullptr && copy->peer >= 0) {
      simulator().device(copy->peer).noteVisit({this, end});
    }
  }
}

} // namespace openreg::sim
