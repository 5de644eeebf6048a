// One executor process, seen from the host: from its start to its end.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "openreg.h"
#include "process/device/ring_writer.h"
#include "recorder.h"
#include "wire/channel.h"
#include "wire/shared_memory.h"
#include "wire/socket.h"

namespace openreg::process {

/// Whether a number that an executor has given is the code of a failure.
constexpr bool isFailure(int32_t code) {
  return code > orSuccess && code <= orErrorStreamCaptureWrongThread && code != orErrorNotReady;
}

/// Why an executor could not be started.
struct StartError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an executor is started with.
struct ExecutorPlan {
  std::string program;
  std::string interpreter; ///< Runs the program; "" if it runs by itself.
  Hello hello;
  int64_t deadlineNs = 0;
  int board = -1; ///< Descriptors.
  int memory = -1;
  int pinned = -1;
};

/// Its frames, requests and end. Any thread may call it.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// Called once, on the executor's watcher thread, when it has ended without having been told to.
  using OnLost = std::function<void(const Executor& executor, orError_t error, const std::string& text)>;

  /// Starts the process and greets it; blocks until it has answered. Throws StartError.
  static std::shared_ptr<Executor> start(const ExecutorPlan& plan, OnLost onLost);

  /// Posts a frame; its number, or 0 if the executor has ended.
  uint64_t post(Kind kind, std::initializer_list<Piece> pieces, Urgency urgency = Urgency::Soon) {
    Header header;
    header.kind = static_cast<uint16_t>(kind);
    return put(header, pieces, urgency);
  }

  /// Posts a request and waits for the answer, at most for the deadline.
  /// @param answer Receives the answer's payload, which must have `answerBytes` bytes.
  /// @return The executor's error with its text for orDriverError, or orErrorDeviceLost if it has ended; onLost has
  ///         returned by then.
  orError_t request(Kind kind, std::initializer_list<Piece> pieces, void* answer = nullptr, size_t answerBytes = 0);

  /// Whether it answers; if it does not, it is ended.
  bool ping() { return request(Kind::Ping, {}) == orSuccess; }

  /// Gives it a descriptor of the memory at an address: a Grant.
  void grant(const char* address, int descriptor);

  /// Tells it to end, and blocks until it has: after its running kernel.
  void quit();

  /// Ends it now. What waits for it is told `error` and `text` as the reason.
  void kill(orError_t error, const std::string& text);

  /// Ends it because it says what cannot be; returns when everybody has been told.
  void distrust(const std::string& text);

  bool ended() const { return ended_.load(std::memory_order_acquire); }
  int process() const { return process_; }
  Channel& channel() const { return *channelView_.as<Channel>(); }
  Recorder& recorder() { return recorder_; }

 private:
  explicit Executor(const ExecutorPlan& plan);

  uint64_t put(const Header& header, std::initializer_list<Piece> pieces, Urgency urgency);
  orError_t hang(Kind kind, uint64_t number);
  bool await(const Fence& fence, uint64_t value);
  bool takesFrames();
  orError_t take(Kind kind, uint64_t number, void* answer, size_t answerBytes);
  void spawn();
  void greet();
  bool awaitWelcome();
  void watch(const OnLost& onLost);
  void awaitEnd();
  std::string reap();
  void awaitLeft();

  const ExecutorPlan plan_;
  Descriptor channelMemory_;
  View channelView_;
  Descriptor socket_;
  Descriptor theirSocket_;
  int process_ = 0;   ///< For messages. Nothing is done by this number: once it is reaped it may be another process's.
  Descriptor handle_; ///< Of the process, whatever becomes of its number.
  std::unique_ptr<RingWriter> ring_;
  Recorder recorder_;
  std::mutex requests_; ///< One at a time.
  std::atomic<bool> ended_{false};
  std::shared_future<void> released_; ///< The watcher has let go of us.

  std::mutex mutex_; ///< Guards what follows.
  std::condition_variable changed_;
  bool started_ = false;
  bool quitting_ = false;
  bool left_ = false; ///< It has ended and everybody has been told.
  std::string startError_;
  orError_t blame_ = orSuccess; ///< Why we have killed it.
  std::string blameText_;
};

} // namespace openreg::process
