// A libnvrtc that compiles for the host's processor, for tests: the libcuda of stub.c then runs every thread of a
// launch in a loop. What it gives for the GPU's code is the path of a shared library.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

struct Program {
  std::string text;
  std::map<std::string, std::string> headers;
  std::string result; // a path, or what the compiler says
};

// The words of CUDA's C++ that device code uses. After the standard headers, which have one of them in another meaning.
constexpr char kBefore[] = R"(
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#define __global__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __grid_constant__
struct Dimensions { unsigned x, y, z; };
static thread_local Dimensions blockIdx, threadIdx, blockDim, gridDim;
static int atomicCAS(int* at, int expected, int wanted) {
  __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
static unsigned atomicAdd(unsigned* at, unsigned more) { return __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST); }
static void __threadfence() { __sync_synchronize(); }
static void __threadfence_system() { __sync_synchronize(); }
#define __shared__ static // blocks run one after the other

// Threads of a block as coroutines: one runs until it waits for the others, then the next one does. Contexts give each
// a stack of its own; from then on jumps lead from one to the other, which the system need not be asked for.
#include <setjmp.h>
#include <ucontext.h>
struct Thread {
  ucontext_t context;
  jmp_buf place;
  char stack[64 << 10];
  bool started, ended;
};
static Thread threads[1024];
static jmp_buf behindThread;
static void __syncthreads() {
  if (_setjmp(threads[threadIdx.x].place) == 0) {
    _longjmp(behindThread, 1);
  }
}

// The one line of a GPU's assembler that there is, in a kernel of the contract's tests, reads the clock.
#include <chrono>
#define asm
#define volatile(...) now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())
)";
constexpr char kBehind[] = R"(
extern "C" unsigned long openreg_size() { return sizeof(Asked_::Args); }
static void** arguments;
static void runThread() {
  openreg_kernel(*static_cast<Asked_::Args*>(arguments[0]), *static_cast<Services*>(arguments[1]));
}
static void runApart(unsigned count) {
  for (threadIdx.x = 0; threadIdx.x < count; ++threadIdx.x) {
    runThread();
  }
}
static void resume(Thread& thread) {
  if (_setjmp(behindThread) != 0) {
    return;
  }
  if (thread.started) {
    _longjmp(thread.place, 1);
  }
  thread.started = true;
  setcontext(&thread.context);
}
static void runTogether(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = threads[i];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack;
    thread.context.uc_stack.ss_size = sizeof(thread.stack);
    thread.started = thread.ended = false;
    makecontext(
        &thread.context,
        [] {
          runThread();
          threads[threadIdx.x].ended = true;
          _longjmp(behindThread, 1);
        },
        0);
  }
  for (unsigned left = count; left > 0;) {
    for (threadIdx.x = 0; threadIdx.x < count; ++threadIdx.x) {
      if (!threads[threadIdx.x].ended) {
        resume(threads[threadIdx.x]);
        left -= threads[threadIdx.x].ended ? 1 : 0;
      }
    }
  }
}
extern "C" void openreg_run(void** parameters, unsigned blocks, unsigned count) {
  gridDim = {blocks, 1, 1};
  blockDim = {count, 1, 1};
  arguments = parameters;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    WAITS ? runTogether(count) : runApart(count);
  }
}
)";

void writeMissing(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    if (const auto path = folder / name; !std::filesystem::exists(path)) {
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
    }
  }
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 0; // so that nobody's kernels for a GPU are taken for ours
  *minor = 0;
  return 0;
}
EXPORT int nvrtcCreateProgram(
    Program** out,
    const char* text,
    const char* /*name*/,
    int count,
    const char* const* texts,
    const char* const* names) {
  auto* program = *out = new Program{text, {}, {}};
  for (int i = 0; i < count; ++i) {
    program->headers[names[i]] = texts[i];
  }
  return 0;
}
EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  // Who only wants to know what is compiled, and how, names a folder to write it into.
  if (const char* asked = std::getenv("OPENREG_STUB_ASKED"); asked != nullptr) {
    const size_t begin = program->text.find('"') + 1; // of the source's name, which the text includes first of all
    const std::string file = program->text.substr(begin, program->text.find('"', begin) - begin);
    const std::filesystem::path folder(asked);
    writeMissing(folder / "headers", program->headers);
    std::ofstream(folder / "behind.cpp") << program->text.substr(program->text.find('\n'));
    std::ofstream lines(folder / "asked.txt", std::ios::app);
    lines << file;
    for (int i = 0; i < count; ++i) {
      lines << '\t' << options[i];
    }
    lines << '\n';
    return 6;
  }
  // OPENREG_STUB_REFUSED, OPENREG_STUB_FATAL: options by which this compiler fails, or is the end of its process.
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (const char* refused = std::getenv("OPENREG_STUB_REFUSED"); refused != nullptr && option == refused) {
      program->result = "the stub was told to";
      return 6;
    }
    if (const char* fatal = std::getenv("OPENREG_STUB_FATAL"); fatal != nullptr && option == fatal) {
      std::raise(SIGKILL);
    }
  }
  std::string folder = std::filesystem::temp_directory_path() / "kernel-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return 1;
  }
  bool waits = false;
  for (const auto& [name, text] : program->headers) {
    waits = waits || text.find("__syncthreads") != text.npos;
  }
  std::erase_if(program->headers, [](const auto& header) { // the host has a standard library of its own
    return header.second.find("cuda/std") != std::string::npos || header.first == "cstdint";
  });
  writeMissing(folder, program->headers);
  std::ofstream(folder + "/source.cpp") << kBefore << program->text << kBehind;
  // In its folder, by names that begin there: so the compiler cache finds what was compiled in another.
  const char* compiler = std::getenv("OPENREG_STUB_CXX");
  const std::string cxx = compiler != nullptr ? compiler : "c++";
  std::string command = "cd " + folder + " && exec 2> log && " + cxx +
                        " -std=c++20 -O1 -fwrapv -fcx-fortran-rules -ffp-contract=off -w -fPIC -I. -MD" +
                        " -DWAITS=" + (waits ? "1" : "0");
  for (int i = 0; i < count; ++i) {
    if (std::string(options[i]).starts_with("-DOPENREG_")) {
      command += " '" + std::string(options[i]) + "'";
    }
  }
  command += " -c source.cpp -o kernel.o && " + cxx + " -shared kernel.o -o kernel.so";
  const int result = std::system(command.c_str());
  std::ifstream log(folder + "/log");
  program->result = result == 0 ? folder + "/kernel.so" : std::string(std::istreambuf_iterator<char>(log), {});
  return result == 0 ? 0 : 6;
}

#define RESULT(getSize, get)                                                                                           \
  EXPORT int getSize(Program* program, size_t* bytes) {                                                                \
    *bytes = program->result.size() + 1;                                                                               \
    return 0;                                                                                                          \
  }                                                                                                                    \
  EXPORT int get(Program* program, char* out) {                                                                        \
    program->result.copy(out, program->result.size());                                                                 \
    out[program->result.size()] = 0;                                                                                   \
    return 0;                                                                                                          \
  }
RESULT(nvrtcGetProgramLogSize, nvrtcGetProgramLog)
RESULT(nvrtcGetCUBINSize, nvrtcGetCUBIN)

EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
