// The process of an executor: its start, and the thread that sees its end.
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "executor.h"
#include "sim/threads.h"

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

/// A process that has closed its socket is on its way out: true if it arrives within a moment.
bool endsSoon(int process) {
  constexpr int kMomentMs = 200;
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  pollfd ended{handle.number(), POLLIN, 0};
  return handle && poll(&ended, 1, kMomentMs) > 0;
}

} // namespace

Executor::Executor(const ExecutorPlan& plan)
    : plan_(plan), channelMemory_(createMemory("openreg-channel", sizeof(Channel))),
      channelView_(channelMemory_, sizeof(Channel)), ring_(std::make_unique<RingWriter>(channel().ring)) {
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
  sim::startThread("or-executor", body, [released] { released->set_value(); });
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
}
// LITERALINCLUDE END: EXECUTOR SPAWN

void Executor::greet() {
  const std::string who = "its executor '" + plan_.program + "' ";
  const int descriptors[] = {channelMemory_.number(), plan_.board, plan_.memory, plan_.pinned};
  Message message;
  if (!sendMessage(socket_, &plan_.hello, sizeof(plan_.hello), descriptors) ||
      !awaitMessage(socket_, plan_.deadlineNs) || !receiveMessage(socket_, message)) {
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
    throw StartError(
        who + "cannot serve: " + std::string(welcome->text, strnlen(welcome->text, sizeof(welcome->text))));
  }
}

std::string Executor::reap() {
  int status = 0;
  const std::string who = "its executor (process " + std::to_string(process_) + ") ";
  while (waitpid(process_, &status, 0) < 0) {
    if (errno != EINTR) {
      return who + "has ended"; // The program reaps all its children itself.
    }
  }
  if (WIFSIGNALED(status)) {
    return who + "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  return who + "has ended with status " + std::to_string(WEXITSTATUS(status));
}

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
  Message ignored;
  while (error.empty() && receiveMessage(socket_, ignored)) {
  }
  bool wanted = false;
  orError_t blame = orErrorDeviceLost;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (process_ != 0) {
      if (!error.empty() || !endsSoon(process_)) {
        ::kill(process_, SIGKILL);
      }
      text = reap();
    }
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
