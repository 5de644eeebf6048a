// The socket.
#include "socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include "common/system/platform.h"

namespace openreg::process {

namespace {
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxDescriptors = 8;
} // namespace

std::pair<Descriptor, Descriptor> createSocket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "a socket cannot be created");
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void limitSending(const Descriptor& socket, int64_t timeoutNs) {
  const timeval limit{timeoutNs / 1'000'000'000, timeoutNs % 1'000'000'000 / 1000};
  setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

void ringBell(const Descriptor& socket) {
  const char bell = 0;
  while (send(socket.number(), &bell, sizeof(bell), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

bool sendMessage(const Descriptor& socket, const void* bytes, size_t size, std::span<const int> descriptors) {
  iovec piece{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket.number(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool receiveMessage(const Descriptor& socket, Message& message) {
  message.bytes.resize(kMaxMessage);
  message.descriptors.clear();
  iovec piece{message.bytes.data(), message.bytes.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t received = 0;
  do {
    received = recvmsg(socket.number(), &header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  message.bytes.resize(received > 0 ? static_cast<size_t>(received) : 0);
  for (cmsghdr* head = CMSG_FIRSTHDR(&header); head != nullptr; head = CMSG_NXTHDR(&header, head)) {
    if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
      const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
        message.descriptors.emplace_back(number);
      }
    }
  }
  return received > 0;
}

bool awaitMessage(const Descriptor& socket, int64_t timeoutNs) {
  pollfd wanted{socket.number(), POLLIN, 0};
  const int64_t end = nowNs() + timeoutNs;
  for (;;) {
    const int64_t left = std::max<int64_t>(end - nowNs(), 0);
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    const int ready = ppoll(&wanted, 1, timeoutNs < 0 ? nullptr : &limit, nullptr);
    if (ready >= 0 || errno != EINTR) {
      return ready > 0; // A signal is no message: whoever took it for one would wait where there is none.
    }
  }
}

} // namespace openreg::process
