// Commands of an executor's streams.
#include "commands.h"

#include <algorithm>
#include <cstdio>

namespace openreg::process {

void WaitCommand::run(sim::Stream& stream) {
  const Failure& failure = stream.device().failure;
  const Board& board = service_.board();
  const bool ofHost = frame_.kind == FenceKind::Host;
  const std::atomic<uint32_t>& lost = board.host.lost[frame_.ofDevice];
  service_.wait(
      board.fence(frame_.ofDevice, frame_.ofStream, ofHost), frame_.value, ofHost ? Board::kHost : frame_.ofDevice,
      kLookNs, [&] { return failure.exists() || lost.load() != 0; });
}

void GateCommand::run(sim::Stream& stream) {
  sim::Device& device = stream.device();
  const int64_t start = nowNs();
  std::atomic<int32_t>& standing = service_.deviceBoard().gates[frame_.gate];
  standing.fetch_add(1);
  const bool opened = service_.wait(
      service_.board().host.gates[frame_.gate], frame_.value, Board::kHost, std::min(kLookNs, frame_.deadlineNs),
      [&] { return device.failure.exists() || nowNs() - start >= frame_.deadlineNs; });
  standing.fetch_sub(1);
  if (!opened && !device.failure.exists()) {
    char text[256];
    std::snprintf(
        text, sizeof(text), "gate '%.*s' was not opened within its deadline of %g s; a stream of device %d stood there",
        static_cast<int>(sizeof(frame_.name)), frame_.name, static_cast<double>(frame_.deadlineNs) / 1e9, device.index);
    device.fail(orErrorTimedOut, text);
  }
}

} // namespace openreg::process
