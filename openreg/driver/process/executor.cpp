// Frames to an executor, and its answers.
#include "executor.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "deadline.h"
#include "openreg_driver.h"
#include "wire/text.h"

namespace openreg::process {

uint64_t Executor::put(const Header& header, std::initializer_list<Piece> pieces, Urgency urgency) {
  if (ended()) {
    return 0;
  }
  // A full ring empties quickly, as the executor never waits for a stream; if not, it hangs.
  Deadline deadline(plan_.deadlineNs);
  bool late = false;
  bool doorbell = false;
  const uint64_t number = ring_->put(header, pieces, urgency, doorbell, deadline.sliceNs(), [&] {
    late = deadline.passed();
    return late || ended();
  });
  if (number == 0 && ring_->impossible()) {
    kill(orErrorDeviceLost, "has taken frames that were not there");
  } else if (late && number == 0 && !ended()) {
    kill(orErrorTimedOut, "has not made room for frames within its deadline");
  }
  if (doorbell) {
    ringBell(socket_);
  }
  return number;
}

/// Waits for a fence of the channel, at most for the deadline.
bool Executor::await(const Fence& fence, uint64_t value) {
  Deadline deadline(plan_.deadlineNs);
  return fence.wait(value, deadline.sliceNs(), channel().ring.sleepers, [&, again = false]() mutable {
    if (std::exchange(again, true)) {
      ringBell(socket_); // The kernel may have had no memory for the first one.
    }
    return ended() || deadline.passed();
  });
}

bool Executor::takesFrames() {
  post(Kind::Nudge, {pieceOf(StreamFrame{.stream = kMaxStreams})}, Urgency::Now); // Of no stream: means nothing.
  return await(channel().ring.taken, ring_->written()) && !ended();
}

orError_t Executor::hang(Kind kind, uint64_t number) {
  char text[160];
  std::snprintf(
      text, sizeof(text), "has not answered request %llu (%s) within its deadline of %g s",
      static_cast<unsigned long long>(number), requestName(kind), static_cast<double>(plan_.deadlineNs) / 1e9);
  kill(orErrorTimedOut, text);
  awaitLeft();
  return orErrorDeviceLost;
}

// LITERALINCLUDE START: EXECUTOR REQUEST
orError_t Executor::request(Kind kind, std::initializer_list<Piece> pieces, void* answer, size_t answerBytes) {
  const std::lock_guard lock(requests_);
  Header header;
  header.kind = static_cast<uint16_t>(kind);
  header.flags = kWantsAnswer;
  const uint64_t number = put(header, pieces, Urgency::Now);
  bool came = false;
  do {
    came = number != 0 && await(channel().answered, number);
    // A module loads for as long as it likes, beside the frames.
  } while (!came && number != 0 && kind == Kind::ModuleLoad && takesFrames());
  if (!came) {
    if (number != 0 && !ended()) {
      return hang(kind, number);
    }
    awaitLeft();
    return orErrorDeviceLost;
  }
  return take(kind, number, answer, answerBytes);
}
// LITERALINCLUDE END: EXECUTOR REQUEST

// LITERALINCLUDE START: EXECUTOR TAKE
orError_t Executor::take(Kind kind, uint64_t number, void* answer, size_t answerBytes) {
  const Answer it = snapshot(channel().answer);
  const bool error = it.error != orSuccess;
  const bool fits = error ? it.payload <= sizeof(it.data) && it.payload > 0 : it.payload == answerBytes;
  // An executor that answers is neither lost nor not ready.
  const bool known = !error || (isFailure(it.error) && it.error != orErrorDeviceLost);
  if (it.magic != kMagic || it.number != number || channel().answered.value.load() != number || !fits || !known) {
    char text[200];
    std::snprintf(
        text, sizeof(text),
        "has given a garbled answer to request %llu (%s): magic 0x%x, number %llu, error %d, %u bytes of payload",
        static_cast<unsigned long long>(number), requestName(kind), it.magic,
        static_cast<unsigned long long>(it.number), it.error, it.payload);
    kill(orErrorDeviceLost, text);
    awaitLeft();
    return orErrorDeviceLost;
  }
  if (error) {
    return orDriverError(static_cast<orError_t>(it.error), "%s", printable({it.data, it.payload}).c_str());
  }
  if (answerBytes != 0) {
    std::memcpy(answer, it.data, answerBytes);
  }
  return orSuccess;
}
// LITERALINCLUDE END: EXECUTOR TAKE

void Executor::grant(const char* address, int descriptor) {
  const Grant grant{.address = reinterpret_cast<uint64_t>(address)};
  if (!sendMessage(socket_, &grant, sizeof(grant), {&descriptor, 1})) {
    kill(orErrorTimedOut, "has not received a message within its deadline"); // If it has ended, that is known already.
  }
}

void Executor::quit() {
  {
    const std::lock_guard lock(mutex_);
    quitting_ = true;
  }
  post(Kind::Quit, {}, Urgency::Now);
  const auto deadline = std::chrono::nanoseconds(plan_.deadlineNs);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, deadline, [this] { return left_; })) {
        break;
      }
    }
    ping(); // A kernel may run as long as it likes. If the executor itself hangs, this ends it.
  }
  released_.wait(); // So that our descriptors and pages are given back when the caller has let go of us, too.
}

void Executor::kill(orError_t error, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (blame_ == orSuccess) {
    blame_ = error;
    blameText_ = text;
  }
  if (handle_) {
    syscall(SYS_pidfd_send_signal, handle_.number(), SIGKILL, nullptr, 0);
  }
}

void Executor::distrust(const std::string& text) {
  kill(orErrorDeviceLost, text);
  awaitLeft();
}

void Executor::awaitLeft() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return left_; });
}

} // namespace openreg::process
