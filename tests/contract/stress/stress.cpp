// Many threads × streams × devices, random operations, checked results.
//
//     stress [seconds [seed [threads [operations]]]]
//
// A round is `operations` operations in each of `threads` threads, and then as many calls in no order (chaos.h). Rounds
// with new seeds follow until `seconds` are over (0: one round). Prints "ok" and counts; ends with code 1 and the seed
// when something is wrong.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "chaos.h"
#include "check.h"
#include "player.h"

namespace {

using stress::check;

stress::Shared prepare() {
  int count = 0;
  CHECK(orGetDeviceCount(&count));
  stress::Shared shared;
  for (int device = 0; device < count; ++device) {
    CHECK(orSetDevice(device));
    auto& on = shared.devices.emplace_back();
    on.streams.resize(2);
    CHECK(orStreamGetDefault(&on.streams[0], device));
    CHECK(orStreamCreate(&on.streams[1]));
    orModule_t module;
    CHECK(orModuleLoad(&module, "openreg"));
    CHECK(orModuleGetKernel(&on.add, module, "add"));
    CHECK(orModuleGetKernel(&on.fill, module, "fill"));
    CHECK(orModuleGetKernel(&on.copy, module, "copy"));
  }
  return shared;
}

void playRound(uint64_t seed, int threads, int operations, stress::Counts& counts) {
  stress::seedOfRun = seed;
  const stress::Shared shared = prepare();
  std::vector<std::thread> players;
  for (int i = 0; i < threads; ++i) {
    players.emplace_back([&, i] {
      stress::Player player(shared, counts, seed * 1000 + static_cast<uint64_t>(i));
      player.play(operations);
      player.finish();
    });
  }
  for (std::thread& player : players) {
    player.join();
  }
  for (int device = 0; device < static_cast<int>(shared.devices.size()); ++device) {
    size_t free = 0;
    size_t total = 0;
    CHECK(orMemGetInfo(&free, &total, device));
    stress::require(free == total, "all memory is free at the end");
    CHECK(orDeviceReset(device));
    stress::require(
        orStreamQuery(shared.devices[static_cast<size_t>(device)].streams[0]) == orErrorInvalidHandle,
        "a reset invalidates streams");
  }
}

uint64_t argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

} // namespace

int main(int argc, char** argv) {
  uint64_t seed = argument(argc, argv, 2, 1);
  const std::chrono::seconds duration(argument(argc, argv, 1, 0));
  const int threads = static_cast<int>(argument(argc, argv, 3, 6));
  const int operations = static_cast<int>(argument(argc, argv, 4, 2000));
  setenv("OPENREG_SIM", "devices=3,memory=256MiB", 0);

  stress::Counts counts;
  const auto end = std::chrono::steady_clock::now() + duration;
  int rounds = 0;
  do {
    playRound(seed, threads, operations, counts);
    stress::playChaos(seed++, threads, operations);
    ++rounds;
  } while (std::chrono::steady_clock::now() < end);

  const auto shown = [](const std::atomic<uint64_t>& count) { return static_cast<unsigned long long>(count.load()); };
  std::printf(
      "ok rounds=%d operations=%llu launches=%llu copies=%llu events=%llu host_functions=%llu graphs=%llu "
      "comparisons=%llu\n",
      rounds, shown(counts.operations), shown(counts.launches), shown(counts.copies), shown(counts.events),
      shown(counts.hostFunctions), shown(counts.graphs), shown(counts.comparisons));
  return 0;
}
