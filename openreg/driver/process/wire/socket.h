// The socket between host and executor: whole messages, some of which carry file descriptors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shared_memory.h"

namespace openreg::process {

/// Two ends of a new socket. Throws std::system_error.
std::pair<Descriptor, Descriptor> createSocket();

/// Sends one message. False if the other side is gone.
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
