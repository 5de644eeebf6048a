// Graphs, which the executor keeps.
#include <algorithm>

#include "host.h"

namespace openreg::process {

namespace {

/// Where an end of a graph's copy lies, as a frame says it.
Where whereOf(bool onHost) {
  return onHost ? Where::Pinned : Where::Device;
}

/// And at which address. Whether pinned memory is there still, shows at each launch.
uint64_t addressOf(const char* ptr, bool onHost) {
  return onHost ? host().pinned().offsetOf(ptr) : reinterpret_cast<uint64_t>(ptr);
}

/// The devices, besides `device`, whose memory a graph uses.
std::vector<Device*> peersOf(const Device& device, const GraphNodes& nodes) {
  std::vector<Device*> found;
  const auto note = [&](Device* peer) {
    if (peer != nullptr && std::ranges::find(found, peer) == found.end()) {
      found.push_back(peer);
    }
  };
  for (const auto& node : nodes) {
    if (const auto* copy = std::get_if<CopyWork>(&node->work); copy != nullptr && copy->peer >= 0) {
      note(&host().device(copy->peer));
    } else if (const auto* kernel = std::get_if<KernelWork>(&node->work)) {
      for (const orPointerArg& argument : kernel->pointers) {
        note(peerOf(device, kernel->args.data(), argument));
      }
    }
  }
  return found;
}

bool isHostFunction(const GraphNode& node) {
  return std::holds_alternative<HostWork>(node.work);
}

/// The records that a launch of these nodes is to have; none if nobody listens.
std::vector<orActivityRecord> worksOf(std::span<const std::shared_ptr<const GraphNode>> nodes) {
  std::vector<orActivityRecord> works;
  if (workOf(orActivityKernel, "").correlation == 0) [[likely]] {
    return works;
  }
  for (const auto& node : nodes) {
    works.push_back(
        std::visit(
            Overloaded{
                [](const KernelWork& it) { return workOf(orActivityKernel, it.name); },
                [](const CopyWork& it) { return copyWork(it.toHost, it.fromHost, it.size, it.peer); },
                [](const FillWork& it) { return workOf(orActivityMemset, "memset", it.size); },
                [](const HostWork&) { return workOf(orActivityHostFunction, "host function"); }},
            node->work));
  }
  return works;
}

} // namespace

Program::~Program() {
  device_.forgetGraphs(life, parts);
}

void Device::forgetGraphs(uint64_t life, const std::vector<Program::Part>& parts) {
  const std::lock_guard lock(mutex_);
  for (const Program::Part& part : parts) {
    if (part.count != 0 && life == this->life() && executor_ != nullptr) {
      executor_->post(Kind::GraphDestroy, {pieceOf(GraphFrame{.graph = part.graph})});
    }
  }
}

/// Posts a node as the work that it is, for a graph in place of a stream. Under the lock.
void Device::postNode(uint32_t graph, const GraphNode& node) {
  const uint32_t target = kGraph | graph;
  std::visit(
      Overloaded{
          [&](const KernelWork& it) {
            const LaunchFrame frame{
                .stream = target,
                .argsSize = static_cast<uint16_t>(it.args.size()),
                .pointerCount = static_cast<uint16_t>(it.pointers.size()),
                .kernel = named(host_.kernels, openreg::handleOf<orKernel_t>(it.kernel)).remote};
            executor_->post(
                Kind::Launch,
                {pieceOf(frame), std::as_bytes(std::span(it.pointers)), std::as_bytes(std::span(it.args))});
          },
          [&](const CopyWork& it) {
            const CopyFrame frame{
                .stream = target,
                .toWhere = whereOf(it.toHost),
                .fromWhere = whereOf(it.fromHost),
                .to = addressOf(it.dst, it.toHost),
                .from = addressOf(it.src, it.fromHost),
                .size = it.size};
            executor_->post(Kind::Copy, {pieceOf(frame)});
          },
          [&](const FillWork& it) {
            const FillFrame frame{
                .stream = target, .value = it.value, .address = reinterpret_cast<uint64_t>(it.dst), .size = it.size};
            executor_->post(Kind::Fill, {pieceOf(frame)});
          },
          [](const HostWork&) {}},
      node.work);
}

std::shared_ptr<const Program> Device::instantiate(const GraphNodes& nodes) {
  auto program = std::make_shared<Program>(*this, nodes);
  program->peers = peersOf(*this, nodes);
  (void)executor();
  for (Device* peer : program->peers) {
    host_.peers.introduce(*this, *peer);
  }
  const std::lock_guard lock(mutex_);
  program->life = life();
  if (executor_ == nullptr) {
    require(whyLost()); // A reset has been faster.
  }
  for (size_t first = 0; first < nodes.size();) {
    const auto end = std::find_if(nodes.begin() + static_cast<ptrdiff_t>(first), nodes.end(), [](const auto& node) {
      return isHostFunction(*node);
    });
    const size_t count = static_cast<size_t>(end - nodes.begin()) - first;
    const uint32_t graph = count != 0 ? graphs_++ % kGraph : 0;
    if (count != 0) {
      executor_->post(Kind::GraphCreate, {pieceOf(GraphFrame{.graph = graph})});
      program->parts.push_back({graph, first, count});
    }
    for (size_t i = first; i < first + count; ++i) {
      postNode(graph, *nodes[i]);
    }
    first += count;
    if (first < nodes.size()) {
      program->parts.push_back({0, first++, 0});
    }
  }
  return program;
}

Point Device::launchPart(
    Stream& stream, uint64_t expected, const Program::Part& part, std::span<const orActivityRecord> works) {
  std::unique_lock lock(mutex_);
  Lane& lane = admit(lock, stream, expected);
  GraphLaunchFrame frame{.stream = lane.number, .graph = part.graph};
  for (const orActivityRecord& work : works) {
    frame.correlation = work.correlation;
    expectRecord(work, expected);
  }
  put(lane, Kind::GraphLaunch, {pieceOf(frame)});
  return {this, lane.number, lane.end()};
}

void Stream::queueGraph(uint64_t expected, const std::shared_ptr<const Program>& program) {
  Device& on = device();
  if (program->life != on.life()) {
    require(on.whyLost());
  }
  for (Device* peer : program->peers) {
    if (!host().peers.introduce(on, *peer)) {
      require(on.failure.check());
    }
  }
  std::vector<const char*> pinned;
  forEachHostEnd(program->nodes, [&](size_t node, const char* ptr, size_t size) {
    if (!host().pinned().offsetOf(ptr, size)) {
      refuseUnpinned(node, ptr);
    }
    host().pinned().open(ptr, on);
    pinned.push_back(ptr);
  });
  for (const Program::Part& part : program->parts) {
    const auto* function = std::get_if<HostWork>(&program->nodes[part.first]->work);
    if (function != nullptr) {
      queueHostFunction(expected, function->function, function->userData, /*always=*/false);
      continue;
    }
    const Point end =
        on.launchPart(*this, expected, part, worksOf(std::span(program->nodes).subspan(part.first, part.count)));
    for (const char* ptr : pinned) {
      host().pinned().addUse(ptr, end);
    }
    for (Device* peer : program->peers) {
      peer->noteVisit(end);
    }
  }
}

} // namespace openreg::process
