// Interprocess events.
#include "shared_event.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "common/system/platform.h"

namespace openreg {

namespace {

constexpr int64_t kLookNs = 50'000'000; ///< How often one who waits looks whether the other process still lives.

/// A process that was killed, and that its parent has not asked about yet, counts as ended.
bool hasEnded(int process) {
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!handle) {
    return errno == ESRCH;
  }
  pollfd end{handle.number(), POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

} // namespace

static_assert(sizeof(orIpcEventHandle) == sizeof(orIpcMemHandle));

SharedEvent::SharedEvent(int file) : view_(Mapping::ofFile(file, kSharedAlignment, kSharedAlignment)) {
  static_assert(sizeof(Page) <= kSharedAlignment);
  if (!view_) {
    throw std::bad_alloc();
  }
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  SharedFile file(kSharedAlignment); // Zeroed memory is an event that was never recorded.
  std::shared_ptr<SharedEvent> made(new SharedEvent(file.number()));
  made->file_ = std::move(file);
  return made;
}

std::shared_ptr<SharedEvent> SharedEvent::open(const orIpcEventHandle& handle) {
  orIpcMemHandle bytes;
  std::memcpy(&bytes, &handle, sizeof(bytes));
  const SharedPart part = openShared(bytes, SharedKind::Event);
  return std::shared_ptr<SharedEvent>(new SharedEvent(part.file.number()));
}

std::optional<orIpcEventHandle> SharedEvent::handle() const {
  if (file_.number() < 0) {
    return std::nullopt;
  }
  const orIpcMemHandle bytes = file_.handleOf(SharedKind::Event, 0, kSharedAlignment);
  orIpcEventHandle handle;
  std::memcpy(&handle, &bytes, sizeof(handle));
  return handle;
}

uint64_t SharedEvent::record() {
  page().recorder.store(getpid());
  return page().latest.fetch_add(1) + 1;
}

void SharedEvent::complete(uint64_t version) {
  std::atomic<uint64_t>& slot = page().complete[version % page().complete.size()];
  uint64_t now = slot.load();
  while (now < version && !slot.compare_exchange_weak(now, version)) {
  }
  page().changes.fetch_add(1);
  futexWakeAll(page().changes, Sharing::Shared);
}

bool SharedEvent::isMarked(uint64_t version) const {
  return version == 0 || page().complete[version % page().complete.size()].load() >= version;
}

bool SharedEvent::isComplete(uint64_t version) const {
  return isMarked(version) || hasEnded(page().recorder.load());
}

void SharedEvent::wait(uint64_t version, bool (*released)(void* data), void* data) const {
  for (;;) {
    const uint32_t seen = page().changes.load(); // Before looking: a change in between ends the sleep at once.
    if (isMarked(version) || released(data) || hasEnded(page().recorder.load())) {
      return;
    }
    futexWait(page().changes, seen, kLookNs, Sharing::Shared);
  }
}

} // namespace openreg
