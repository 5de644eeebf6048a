// Commands of an executor's streams.
#include "commands.h"

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

} // namespace openreg::process
