// Figures of the driver, as JSON lines {name, value, unit, most or least}, the last being what the figure is to reach.
//
// The same for each driver that OPENREG_DRIVER names, but a device in a process of its own has its own bars.
//
// What is compared with memcpy is measured in turns with it, so that both meet the same machine. Medians throughout.
// That no mprotect happens after set-up needs no figure: strace -f -c -e trace=mprotect build/…/openreg_bench_driver
// counts the calls, and OPENREG_BENCH_ROUNDS=1 and =10 must give the same count but for a few of the C library.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "openreg.h"

namespace {

using Clock = std::chrono::steady_clock;

void check(orError_t error) {
  if (error != orSuccess) {
    std::fprintf(stderr, "bench_driver: %s\n", orGetLastErrorMessage());
    std::exit(1);
  }
}

double nanoseconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double medianOf(int rounds, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < rounds; ++i) {
    values.push_back(measure());
  }
  return median(values);
}

void print(const char* name, double value, const char* unit, const char* kind, double bar) {
  std::printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"%s\": %g}\n", name, value, unit, kind, bar);
  std::fflush(stdout);
}

int scaled(int rounds) {
  const char* factor = std::getenv("OPENREG_BENCH_ROUNDS");
  return factor != nullptr ? std::max(1, rounds * std::atoi(factor) / 10) : rounds;
}

/// What the figures are to reach.
struct Bars {
  double launchNs;
  double ofMemcpy;
  double waitWarmUs;
  double waitRestedUs;
};

constexpr Bars kInProcess{500, 0.9, 15, 30};
constexpr Bars kOwnProcess{2000, 0.7, 25, 60};

bool ownProcess() {
  const char* driver = std::getenv("OPENREG_DRIVER");
  return driver != nullptr && std::strcmp(driver, "process") == 0;
}

const Bars& bars() {
  return ownProcess() ? kOwnProcess : kInProcess;
}

struct Setup {
  orStream_t stream = nullptr;
  orKernel_t empty = nullptr;
  orEvent_t event = nullptr;

  Setup() {
    orModule_t module = nullptr;
    check(orStreamGetDefault(&stream, 0));
    check(orModuleLoad(&module, KERNELS));
    check(orModuleGetKernel(&empty, module, "empty"));
    check(orEventCreate(&event));
  }
  void launch() const { check(orLaunchKernel(empty, nullptr, 0, nullptr, 0, stream)); }
  void settle() const { check(orDeviceSynchronize(0)); }
};

/// Host time of one launch while the stream has work, over fewer launches than the queue holds.
double launchNs(const Setup& setup) {
  constexpr int kLaunches = 1000;
  setup.settle();
  setup.launch();
  return nanoseconds([&] {
           for (int i = 0; i < kLaunches; ++i) {
             setup.launch();
           }
         }) /
         kLaunches;
}

void launches(const Setup& setup) {
  print("launch_empty_busy", medianOf(scaled(200), [&] { return launchNs(setup); }), "ns", "most", bars().launchNs);
}

/// The host's time for a kernel of a graph of 100, launched on a stream that is at work.
void graphs(const Setup& setup) {
  constexpr int kKernels = 100;
  check(orStreamBeginCapture(setup.stream, orStreamCaptureModeRelaxed));
  for (int i = 0; i < kKernels; ++i) {
    setup.launch();
  }
  orGraph_t graph = nullptr;
  orGraphExec_t exec = nullptr;
  check(orStreamEndCapture(setup.stream, &graph));
  check(orGraphInstantiate(&exec, graph));
  std::vector<double> host;
  for (int i = 0; i < scaled(500); ++i) {
    setup.settle();
    setup.launch();
    host.push_back(nanoseconds([&] { check(orGraphLaunch(exec, setup.stream)); }));
  }
  print("graph_launch_host_per_kernel", median(host) / kKernels, "ns", "most", 150);
  check(orGraphExecDestroy(exec));
  check(orGraphDestroy(graph));
}

/// What a launch takes longer while somebody listens, in turns with launches that nobody hears of. (What it costs if
/// nobody listens, against a library without records: bench/against.py.)
void activity(const Setup& setup) {
  std::vector<double> alone;
  std::vector<double> heard;
  const auto count = [](const orActivityRecord*, void* records) { ++*static_cast<std::atomic<int>*>(records); };
  std::atomic<int> records{0};
  for (int i = 0; i < scaled(200); ++i) {
    alone.push_back(launchNs(setup));
    orSubscriber_t subscriber = nullptr;
    check(orActivitySubscribe(&subscriber, count, &records));
    heard.push_back(launchNs(setup));
    setup.settle();
    check(orActivityUnsubscribe(subscriber));
  }
  print("launch_heard", median(heard) - median(alone), "ns", "most", 1000);
}

/// Throughput of a synchronous copy relative to memcpy between two host arrays.
void copies(const char* size, size_t bytes, int rounds) {
  // The vectors are written here, so that no page is touched for the first time inside a measurement.
  std::vector<char> host(bytes, 1);
  std::vector<char> other(bytes, 2);
  void* device = nullptr;
  check(orMalloc(&device, bytes));
  check(orMemset(device, 0, bytes));
  std::vector<double> plain;
  std::vector<double> up;
  std::vector<double> down;
  for (int i = 0; i < rounds; ++i) {
    plain.push_back(nanoseconds([&] { std::memcpy(other.data(), host.data(), bytes); }));
    up.push_back(nanoseconds([&] { check(orMemcpy(device, host.data(), bytes, orMemcpyHostToDevice)); }));
    plain.push_back(nanoseconds([&] { std::memcpy(host.data(), other.data(), bytes); }));
    down.push_back(nanoseconds([&] { check(orMemcpy(other.data(), device, bytes, orMemcpyDeviceToHost)); }));
  }
  check(orFree(device));
  print((std::string("copy_h2d_") + size).c_str(), median(plain) / median(up), "of memcpy", "least", bars().ofMemcpy);
  print((std::string("copy_d2h_") + size).c_str(), median(plain) / median(down), "of memcpy", "least", bars().ofMemcpy);
}

double recordAndSynchronize(const Setup& setup) {
  return nanoseconds([&] {
           setup.launch(); // The event has something to wait for.
           check(orEventRecord(setup.event, setup.stream));
           check(orEventSynchronize(setup.event));
         }) /
         1000;
}

void events(const Setup& setup) {
  const double warm = medianOf(scaled(2000), [&] { return recordAndSynchronize(setup); });
  print("event_record_synchronize_warm", warm, "us", "most", bars().waitWarmUs);
  const double idle = medianOf(scaled(200), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return recordAndSynchronize(setup);
  });
  print("event_record_synchronize_after_1ms", idle, "us", "most", bars().waitRestedUs);
}

/// A call that needs the device's answer, where the device has nothing else to do.
void roundTrip() {
  size_t free = 0;
  size_t total = 0;
  const auto ask = [&] { return nanoseconds([&] { check(orMemGetInfo(&free, &total, 0)); }) / 1000; };
  print("round_trip_warm", medianOf(scaled(2000), ask), "us", "most", bars().waitWarmUs);
  const double rested = medianOf(scaled(200), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ask();
  });
  print("round_trip_after_1ms", rested, "us", "most", bars().waitRestedUs);
}

void idleSynchronize(const Setup& setup) {
  constexpr int kCalls = 1000;
  setup.settle();
  const auto measure = [&](const std::function<void()>& call) {
    return medianOf(scaled(50), [&] {
      return nanoseconds([&] {
               for (int i = 0; i < kCalls; ++i) {
                 call();
               }
             }) /
             kCalls / 1000;
    });
  };
  print("stream_synchronize_idle", measure([&] { check(orStreamSynchronize(setup.stream)); }), "us", "most", 1);
  print("device_synchronize_idle", measure([&] { check(orDeviceSynchronize(0)); }), "us", "most", 1);
}

double processorMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto milliseconds = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

void idleProcessor(const Setup& setup) {
  setup.launch();
  setup.settle();
  const double before = processorMilliseconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  print("cpu_during_1s_idle", processorMilliseconds() - before, "ms", "most", 1);
}

} // namespace

int main() {
  const Setup setup;
  launches(setup);
  activity(setup);
  graphs(setup);
  copies("1MiB", size_t{1} << 20, scaled(200));
  copies("256MiB", size_t{256} << 20, scaled(10));
  events(setup);
  if (ownProcess()) {
    roundTrip();
  }
  idleSynchronize(setup);
  idleProcessor(setup);
  return 0;
}
