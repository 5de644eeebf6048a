// The process of an executor: its start, and the thread that sees its end.
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "common/system/threads.h"
#include "deadline.h"
#include "executor.h"
#include "wire/text.h"

namespace openreg::process {

namespace {

/// posix_spawn's settings. The watcher has all signals blocked, which a new process would inherit.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, kSocket);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

constexpr auto kByHandle = static_cast<idtype_t>(3); ///< P_PIDFD, which older C libraries do not name.

/// A handle of a child that nobody has reaped yet; none if the program has, as one that reaps all its children may.
Descriptor handleOf(int process) {
  Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  siginfo_t info{};
  const auto number = static_cast<id_t>(handle.number());
  const bool ours = handle && waitid(kByHandle, number, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return ours ? std::move(handle) : Descriptor();
}

/// Waits until one of both can be read or, after `timeoutMs` (negative: no limit), neither.
void pollBoth(pollfd (&both)[2], int timeoutMs) {
  while (poll(both, 2, timeoutMs) < 0 && errno == EINTR) {
  }
}

} // namespace

Executor::Executor(const ExecutorPlan& plan)
    : plan_(plan), channelMemory_(createMemory("openreg-channel", sizeof(Channel))),
      channelView_(channelMemory_, sizeof(Channel)), ring_(std::make_unique<RingWriter>(channel().ring)),
      recorder_(channel().records) {
  std::tie(socket_, theirSocket_) = createSocket();
}

std::shared_ptr<Executor> Executor::start(const ExecutorPlan& plan, OnLost onLost) {
  std::shared_ptr<Executor> it;
  try {
    it.reset(new Executor(plan));
  } catch (const std::system_error& error) {
    throw StartError(error.what());
  }
  // The kernel counts the *thread* that starts a process as its parent (PR_SET_PDEATHSIG): it must be one that stays.
  const auto released = std::make_shared<std::promise<void>>();
  it->released_ = released->get_future().share();
  const auto body = [self = it, onLost = std::move(onLost)]() mutable {
    self->watch(onLost);
    self.reset();
  };
  startThread("or-executor", body, [released] { released->set_value(); });
  std::unique_lock lock(it->mutex_);
  it->changed_.wait(lock, [&] { return it->started_ || it->left_; });
  if (!it->started_) {
    throw StartError(it->startError_);
  }
  return it;
}

// LITERALINCLUDE START: EXECUTOR SPAWN
void Executor::spawn() {
  const SpawnSettings settings(theirSocket_.number());
  std::string parent = std::to_string(getpid());
  std::string device = "--device=" + std::to_string(plan_.hello.device);
  std::string interpreter = plan_.interpreter;
  std::string program = plan_.program;
  char* arguments[] = {interpreter.data(), program.data(), parent.data(), device.data(), nullptr};
  char** first = interpreter.empty() ? arguments + 1 : arguments;
  const int error = posix_spawnp(&process_, *first, &settings.actions, &settings.attributes, first, environ);
  if (error != 0) {
    throw StartError("its executor '" + std::string(*first) + "' cannot be started: " + std::strerror(error));
  }
  theirSocket_ = Descriptor(); // So that the socket ends when the executor does.
  Descriptor handle = handleOf(process_);
  const std::lock_guard lock(mutex_);
  handle_ = std::move(handle);
  if (!handle_) {
    throw StartError("its executor '" + std::string(*first) + "' has ended at once, or cannot be watched");
  }
}
// LITERALINCLUDE END: EXECUTOR SPAWN

void Executor::greet() {
  const std::string who = "its executor '" + plan_.program + "' ";
  const int descriptors[] = {channelMemory_.number(), plan_.board, plan_.memory, plan_.pinned};
  Message message;
  limitSending(socket_, plan_.deadlineNs);
  if (!sendMessage(socket_, &plan_.hello, sizeof(plan_.hello), descriptors) || !awaitWelcome() ||
      !receiveMessage(socket_, message)) {
    throw StartError(who + "has not answered Hello");
  }
  const auto* welcome = message.as<Welcome>(kMagic);
  if (welcome == nullptr) {
    throw StartError(
        who + "has answered Hello with " + std::to_string(message.bytes.size()) + " bytes; expected " +
        std::to_string(sizeof(Welcome)) + " that start with the magic number");
  }
  if (welcome->version != kProtocolVersion) {
    throw StartError(
        who + "speaks version " + std::to_string(welcome->version) + " of the protocol; expected " +
        std::to_string(kProtocolVersion));
  }
  if (welcome->error != orSuccess) {
    throw StartError(who + "cannot serve: " + printable({welcome->text, sizeof(welcome->text)}));
  }
}

/// Waits for the answer to Hello, or for its end; false if there will be no answer.
bool Executor::awaitWelcome() {
  pollfd both[] = {{socket_.number(), POLLIN, 0}, {handle_.number(), POLLIN, 0}};
  Deadline deadline(plan_.deadlineNs);
  const auto sliceMs = static_cast<int>(std::clamp<int64_t>(deadline.sliceNs() / 1'000'000, 1, INT_MAX));
  do {
    pollBoth(both, sliceMs);
  } while (both[0].revents == 0 && both[1].revents == 0 && !deadline.passed());
  return (both[0].revents & POLLIN) != 0; // A refusal may lie there although it has ended.
}

std::string Executor::reap() {
  siginfo_t info{};
  const std::string who = "its executor (process " + std::to_string(process_) + ") ";
  while (waitid(kByHandle, static_cast<id_t>(handle_.number()), &info, WEXITED) < 0) {
    if (errno != EINTR) {
      return who + "has ended"; // The program reaps all its children itself.
    }
  }
  if (info.si_code != CLD_EXITED) {
    return who + "was killed by signal " + std::to_string(info.si_status) + " (" + strsignal(info.si_status) + ")";
  }
  return who + "has ended with status " + std::to_string(info.si_status);
}

// LITERALINCLUDE START: EXECUTOR AWAIT END
/// Blocks until the process has ended. Its socket ends with it, but not where a child that the program has forked
/// meanwhile holds the other end, too; its handle tells the truth in any case.
void Executor::awaitEnd() {
  constexpr int kMomentMs = 200; // A process that has closed its socket is on its way out.
  pollfd both[] = {{socket_.number(), POLLIN, 0}, {handle_.number(), POLLIN, 0}};
  Message ignored;
  for (bool closed = false;;) {
    pollBoth(both, closed ? kMomentMs : -1);
    if (both[1].revents != 0) {
      return;
    }
    if (closed) {
      kill(orErrorDeviceLost, "has closed its socket");
    } else if (!receiveMessage(socket_, ignored)) {
      closed = true;
      both[0].fd = -1;                                                      // Would be readable for ever.
    } else if (const std::string lie = recorder_.collect(); !lie.empty()) { // It has rung for its records.
      kill(orErrorDeviceLost, lie);
    }
  }
}
// LITERALINCLUDE END: EXECUTOR AWAIT END

// LITERALINCLUDE START: EXECUTOR WATCH
void Executor::watch(const OnLost& onLost) {
  std::string error;
  try {
    spawn();
    greet();
    const std::lock_guard lock(mutex_);
    started_ = true;
    changed_.notify_all();
  } catch (const StartError& failure) {
    error = failure.what();
  }
  if (error.empty()) {
    awaitEnd();
  } else {
    kill(orErrorDriver, error);
  }
  bool wanted = false;
  orError_t blame = orErrorDeviceLost;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = handle_ ? reap() : "";
    ended_.store(true, std::memory_order_release);
    wanted = quitting_ || !started_;
    if (blame_ != orSuccess) {
      blame = blame_;
      text = "its executor (process " + std::to_string(process_) + ") " + blameText_;
    }
  }
  channel().answered.interrupt();
  channel().ring.taken.interrupt();
  if (!wanted) {
    onLost(*this, blame, text);
  }
  const std::lock_guard lock(mutex_);
  startError_ = error;
  left_ = true;
  changed_.notify_all();
}
// LITERALINCLUDE END: EXECUTOR WATCH

} // namespace openreg::process
