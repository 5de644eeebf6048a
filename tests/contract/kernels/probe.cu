// The kernels of probe.cpp for a GPU, in the form that the driver "cuda" compiles: what is no loop is done by one thread.
// Not here: "throws" and "together", as device code of a GPU has no exceptions and no threads of the host.
namespace {

constexpr int kLaunchFailure = 7; // orErrorLaunchFailure

struct Append {
  int64_t* log;
  int64_t value;
};
void append(const Append& args, Context& context) {
  if (context.thread() == 0) {
    args.log[0] += 1;
    args.log[args.log[0]] = args.value;
  }
}

struct FailureReport {
  int64_t code;
  char text[56];
};
void report(const FailureReport& args, Context& context) {
  if (context.thread() == 0) {
    context.fail(static_cast<int32_t>(args.code), args.text);
  }
}
void report_twice(const FailureReport& args, Context& context) {
  if (context.thread() == 0) {
    context.fail(static_cast<int32_t>(args.code), args.text);
    context.fail(kLaunchFailure, "the second report");
  }
}

struct Block {
  int64_t* entered;
  int64_t* release;
};
uint64_t nanoseconds() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
// Runs until somebody writes to *release; gives up after 30 seconds, so that a fault cannot hang the tests.
void block(const Block& args, Context& context) {
  if (context.thread() != 0) {
    return;
  }
  *static_cast<volatile int64_t*>(args.entered) = 1;
  const uint64_t start = nanoseconds();
  while (*static_cast<volatile int64_t*>(args.release) == 0) {
    if (nanoseconds() - start > 30000000000) {
      context.fail(kLaunchFailure, "nobody released the kernel");
      return;
    }
  }
}

struct Squares {
  int64_t* values;
  int64_t count;
  int64_t grain;
  int64_t* pieces;
  int64_t* smallest;
};
// A piece is an index: there are no others on a GPU.
void squares(const Squares& args, Context& context) {
  for (int64_t i = context.thread(); i < args.count; i += context.threads()) {
    args.values[i] += i * i;
  }
  if (context.thread() == 0) {
    *args.pieces = args.count;
    *args.smallest = args.count == 0 ? 0x7fffffffffffffff : 1;
  }
}

struct Look {
  int64_t* result;
};
void alignment(const Look& args, Context& context) {
  if (context.thread() == 0) {
    *args.result = static_cast<int64_t>(reinterpret_cast<uintptr_t>(&args) % 16);
  }
}

struct Bytes {
  int64_t* result;
  unsigned char bytes[4096 - 8];
};
// Sum of the argument bytes behind the pointer.
void sum_arguments(const Bytes& args, Context& context) {
  if (context.thread() == 0) {
    int64_t sum = 0;
    for (unsigned char byte : args.bytes) {
      sum += byte;
    }
    *args.result = sum;
  }
}

struct Pointers {
  int64_t* pointers[64];
};
// Writes i to the i-th of 64 pointers.
void scatter(const Pointers& args, Context& context) {
  for (int64_t i = context.thread(); i < 64; i += context.threads()) {
    *args.pointers[i] = i;
  }
}

struct Copy {
  int64_t* dst;
  const int64_t* src;
};
void copy_word(const Copy& args, Context& context) {
  if (context.thread() == 0) {
    *args.dst = *args.src;
  }
}

struct Before {
  int64_t* pointer;
};
// Reads the word before its pointer and writes it to where the pointer points.
void copy_from_before(const Before& args, Context& context) {
  if (context.thread() == 0) {
    *args.pointer = args.pointer[-1];
  }
}

struct Nothing {};
void nothing(const Nothing&, Context&) {}

OPENREG_KERNEL(append, Append)
OPENREG_KERNEL(report, FailureReport)
OPENREG_KERNEL(report_twice, FailureReport)
OPENREG_KERNEL(block, Block)
OPENREG_KERNEL(squares, Squares)
OPENREG_KERNEL(alignment, Look)
OPENREG_KERNEL(sum_arguments, Bytes)
OPENREG_KERNEL(scatter, Pointers)
OPENREG_KERNEL(copy_word, Copy)
OPENREG_KERNEL(copy_from_before, Before)
OPENREG_KERNEL(nothing, Nothing)

} // namespace
