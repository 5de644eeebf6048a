// What device code sees on a GPU, in place of the contract's header of that name. Every thread of a launch runs the
// kernel: what is outside of loops is done by all of them.
#pragma once

#include <cstdint>

// The library's own is no constant to this compiler.
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)

// As in services.h.
struct Report {
  int32_t code;
  int32_t unused;
  const char* kernel;
  char text[256];
};
struct Scratch {
  static constexpr int kTallies = 1024;
  unsigned tallies[kTallies];
  alignas(16) char bytes[256 << 10];
};
struct Services {
  int32_t* failed;
  Report* report;
  const char* kernel;
  Scratch* scratch;
  int32_t phase;
};

// As in openreg.h.
#define OPENREG_MAX_ARGUMENT_BYTES 4096
enum orError_t : int32_t { orErrorInvalidValue = 1, orErrorLaunchFailure = 7, orErrorAssert = 8 };

/// Threads of a block, as launch.cpp has it.
constexpr int kThreads = 256;

/// Threads that read memory together if they read neighbours.
constexpr int kWarp = 32;

/// The services of the device for one running kernel.
struct orKernelContext {
  const Services& services;

  /// Which of the launch's threads this one is, and how many there are.
  int64_t thread() const { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
  int64_t threads() const { return int64_t{gridDim.x} * blockDim.x; }

  /// Calls `use(i)` for each i of [0, count), in all threads together: neighbours by neighbours.
  template <class Use>
  __forceinline__ void forEach(int64_t count, Use use) const {
    for (int64_t i = thread(); i < count; i += threads()) {
      use(i);
    }
  }

  /// The first report counts.
  void fail(int32_t code, const char* message) {
    if (atomicCAS(services.failed, 0, 1) != 0) {
      return;
    }
    Report& report = *services.report;
    int at = 0;
    for (; at < static_cast<int>(sizeof(report.text)) - 1 && message[at] != 0; ++at) {
      report.text[at] = message[at];
    }
    report.text[at] = 0;
    report.kernel = services.kernel;
    __threadfence_system();
    // A code that says that all is well would be no failure at all.
    *static_cast<volatile int32_t*>(&report.code) = code == 0 || code == 5 ? orErrorLaunchFailure : code;
  }
  void fail(orKernelContext* /*itself*/, orError_t code, const char* message) { fail(code, message); }
};

using orKernelFn = void (*)(const void* args, orKernelContext* context);
