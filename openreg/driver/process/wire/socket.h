// The socket between host and executor: whole messages, some of which carry file descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared_memory.h"

namespace openreg::process {

/// Two ends of a new socket. Throws std::system_error.
std::pair<Descriptor, Descriptor> createSocket();

/// From now on sending gives up after `timeoutNs`: whoever does not receive must not hold the sender up for ever.
void limitSending(const Descriptor& socket, int64_t timeoutNs);

/// Rings the doorbell: sends a message of one byte, if there is room. (If there is none, enough bells are on their
/// way.)
void ringBell(const Descriptor& socket);

/// Sends one message. False if the other side is gone, or does not receive.
bool sendMessage(const Descriptor& socket, const void* bytes, size_t size, std::span<const int> descriptors = {});

/// A message as it came.
struct Message {
  std::vector<char> bytes;
  std::vector<Descriptor> descriptors;

  /// The message as a T, if it has the size and the magic of one; else null.
  template <class T>
  const T* as(uint32_t magic) const {
    const auto* it = reinterpret_cast<const T*>(bytes.data());
    return bytes.size() == sizeof(T) && it->magic == magic ? it : nullptr;
  }
};

/// Receives one message; blocks until there is one. False if the other side is gone.
bool receiveMessage(const Descriptor& socket, Message& message);

/// Waits until there is a message or the other side is gone; false if neither is so after `timeoutNs` (negative: no
/// limit).
bool awaitMessage(const Descriptor& socket, int64_t timeoutNs);

} // namespace openreg::process
