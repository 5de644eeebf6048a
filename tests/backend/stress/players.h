// What the programs of this folder have in common: streams that all threads use, and threads that play until time is
// up.
#pragma once

#include "stream/current_stream.h"
#include "stream/pool.h"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace stress {

constexpr c10::DeviceIndex kDevices = 2;
constexpr size_t kStreams = 3; // of each device; a stream is a thread of the simulator

inline std::vector<c10::Stream> streams[kDevices];

/// Makes the streams, and has so many of `Player`, each with a seed and a thread of its own, run(end).
/// @param argv Of the program: seconds, seed.
template <class Player>
void play(unsigned players, char** argv) {
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    streams[device].push_back(openreg::defaultStream(device));
    while (streams[device].size() < kStreams) {
      streams[device].push_back(openreg::nextStream(device, 0));
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  const auto seed = static_cast<unsigned>(std::atoi(argv[2])) * 100;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < players; ++i) {
    threads.emplace_back([=] { Player(seed + i).run(end); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

} // namespace stress
