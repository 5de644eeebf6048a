// Everything the driver has in the host.
#include "host.h"

namespace openreg::process {

Shared::Shared() : boardMemory(createMemory("openreg-board", sizeof(Board))), boardView(boardMemory, sizeof(Board)) {}

Host::Host(const Settings& from) : settings(from) {
  start(settings.devices, *this);
}

Host& Host::instance() {
  static Host& instance = *new Host(readSettings());
  return instance;
}

Pinned* Host::pinnedIfAny() const {
  Shared* shared = sharedIfAny();
  return shared != nullptr ? &shared->pinned : nullptr;
}

Shared& Host::shared() {
  if (Shared* it = sharedIfAny()) {
    return *it;
  }
  const std::lock_guard lock(sharing_);
  if (sharedIfAny() == nullptr) {
    shared_.store(new Shared, std::memory_order_release);
  }
  return *sharedIfAny();
}

void Host::advanceHostFence(int device, uint32_t lane, uint64_t value) {
  Board& board = shared().board();
  board.fence(device, lane, true).advance(value, [&] { return board.somebodySleepsOn(Board::kHost); });
}

} // namespace openreg::process
