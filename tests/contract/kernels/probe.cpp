// Kernels of the contract tests: each makes one thing visible that the contract promises about kernels.
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

#include "openreg_kernel.h"

namespace {

struct Append {
  int64_t* log;
  int64_t value;
};

// log[0] counts what follows, so the order of several launches can be read back.
void append(const void* raw, orKernelContext*) {
  const auto& args = *static_cast<const Append*>(raw);
  args.log[0] += 1;
  args.log[args.log[0]] = args.value;
}

struct Report {
  int64_t code;
  char text[56];
};

void report(const void* raw, orKernelContext* context) {
  const auto& args = *static_cast<const Report*>(raw);
  context->fail(context, static_cast<orError_t>(args.code), args.text);
}

// The text lives in this frame only: the driver must copy it.
void reportTwice(const void* raw, orKernelContext* context) {
  Report args;
  std::memcpy(&args, raw, sizeof(args));
  context->fail(context, static_cast<orError_t>(args.code), args.text);
  std::memset(args.text, 'x', sizeof(args.text) - 1);
  context->fail(context, orErrorLaunchFailure, "the second report");
}

struct Block {
  int64_t* entered;
  int64_t* release;
};

// Runs until somebody writes to *release; gives up after 30 seconds, so that a fault cannot hang the tests.
void block(const void* raw, orKernelContext* context) {
  const auto& args = *static_cast<const Block*>(raw);
  std::atomic_ref<int64_t>(*args.entered).store(1);
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (std::atomic_ref<int64_t>(*args.release).load() == 0) {
    sched_yield();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start.tv_sec > 30) {
      context->fail(context, orErrorLaunchFailure, "nobody released the kernel");
      return;
    }
  }
}

struct Squares {
  int64_t* values;
  int64_t count;
  int64_t grain;
  int64_t* pieces;   // number of pieces
  int64_t* smallest; // length of the shortest piece but the last
};

// values[i] += i * i, so an index that is visited twice or never shows.
void squares(const void* raw, orKernelContext* context) {
  struct State {
    const Squares* args;
    std::atomic<int64_t> pieces{0};
    std::atomic<int64_t> smallest{INT64_MAX};
  } state{static_cast<const Squares*>(raw)};
  context->parallelFor(
      context, state.args->count, state.args->grain,
      [](void* opaque, int64_t begin, int64_t end) {
        auto& seen = *static_cast<State*>(opaque);
        for (int64_t i = begin; i < end; ++i) {
          seen.args->values[i] += i * i;
        }
        seen.pieces += 1;
        int64_t smallest = seen.smallest;
        while (end != seen.args->count && end - begin < smallest &&
               !seen.smallest.compare_exchange_weak(smallest, end - begin)) {
        }
      },
      &state);
  *state.args->pieces = state.pieces;
  *state.args->smallest = state.smallest;
}

/// Waits until something becomes true; false after so many seconds.
template <class Condition>
bool becomes(Condition condition, int seconds) {
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (!condition()) {
    sched_yield();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start.tv_sec > seconds) {
      return false;
    }
  }
  return true;
}

struct Throw {
  int64_t what;  // 0: std::bad_alloc, 1: std::runtime_error, 2: something that is not a std::exception
  int64_t where; // 0: no loop, 1: every piece, 2: pieces in the kernel's own thread, 3: pieces in other threads
};

void throwIt(int64_t what) {
  if (what == 0) {
    throw std::bad_alloc();
  }
  if (what == 1) {
    throw std::runtime_error("thrown by a test");
  }
  throw int{7};
}

// Several threads are in the loop when the first of them throws. Whoever is still in it then finds the frame of the
// kernel as it was.
void throws(const void* raw, orKernelContext* context) {
  struct State {
    Throw args;
    std::thread::id own = std::this_thread::get_id();
    std::atomic<int> inside{0};
    std::atomic<bool> thrown{false};
  } state{*static_cast<const Throw*>(raw)};
  if (state.args.where == 0) {
    throwIt(state.args.what);
  }
  context->parallelFor(
      context, 64, 1,
      [](void* opaque, int64_t, int64_t) {
        auto& state = *static_cast<State*>(opaque);
        state.inside.fetch_add(1);
        becomes([&] { return state.inside.load() > 1; }, 1);
        const bool own = std::this_thread::get_id() == state.own;
        if (state.args.where == 1 || own == (state.args.where == 2)) {
          state.thrown.store(true);
          throwIt(state.args.what);
        }
        becomes([&] { return state.thrown.load(); }, 1);
      },
      &state);
}

struct Together {
  int64_t* met;
  int64_t threads;
};

// Whether so many threads work on one loop at a time.
void together(const void* raw, orKernelContext* context) {
  const auto& args = *static_cast<const Together*>(raw);
  struct State {
    int64_t threads;
    std::atomic<int64_t> inside{0};
  } state{args.threads};
  context->parallelFor(
      context, args.threads, 1,
      [](void* opaque, int64_t, int64_t) {
        auto& state = *static_cast<State*>(opaque);
        state.inside.fetch_add(1);
        becomes([&] { return state.inside.load() == state.threads; }, 5);
      },
      &state);
  *args.met = state.inside.load();
}

struct Look {
  int64_t* result;
};

// Where the arguments stand, modulo 16.
void alignment(const void* raw, orKernelContext*) {
  *static_cast<const Look*>(raw)->result = static_cast<int64_t>(reinterpret_cast<uintptr_t>(raw) % 16);
}

// Sum of the 4096 - 8 argument bytes behind the pointer.
void sumArguments(const void* raw, orKernelContext*) {
  int64_t sum = 0;
  const auto* bytes = static_cast<const unsigned char*>(raw);
  for (int i = 8; i < OPENREG_MAX_ARGUMENT_BYTES; ++i) {
    sum += bytes[i];
  }
  *static_cast<const Look*>(raw)->result = sum;
}

// Writes i to the i-th of 64 pointers.
void scatter(const void* raw, orKernelContext*) {
  const auto* pointers = static_cast<int64_t* const*>(raw);
  for (int64_t i = 0; i < OPENREG_MAX_POINTER_ARGS; ++i) {
    *pointers[i] = i;
  }
}

struct Copy {
  int64_t* dst;
  const int64_t* src;
};

void copyWord(const void* raw, orKernelContext*) {
  const auto& args = *static_cast<const Copy*>(raw);
  *args.dst = *args.src;
}

struct Before {
  int64_t* pointer;
};

// Reads the word before its pointer and writes it to where the pointer points.
void copyFromBefore(const void* raw, orKernelContext*) {
  int64_t* pointer = static_cast<const Before*>(raw)->pointer;
  *pointer = pointer[-1];
}

void nothing(const void*, orKernelContext*) {}

const orKernelEntry table[] = {
    {"append", append, sizeof(Append)},
    {"report", report, sizeof(Report)},
    {"report_twice", reportTwice, sizeof(Report)},
    {"block", block, sizeof(Block)},
    {"squares", squares, sizeof(Squares)},
    {"throws", throws, sizeof(Throw)},
    {"together", together, sizeof(Together)},
    {"alignment", alignment, sizeof(Look)},
    {"sum_arguments", sumArguments, OPENREG_MAX_ARGUMENT_BYTES},
    {"scatter", scatter, OPENREG_MAX_POINTER_ARGS * sizeof(int64_t*)},
    {"copy_word", copyWord, sizeof(Copy)},
    {"copy_from_before", copyFromBefore, sizeof(Before)},
    {"nothing", nothing, 0},
};

} // namespace

extern "C" const orKernelEntry* orGetKernels(size_t* count) {
  *count = sizeof(table) / sizeof(table[0]);
  return table;
}
