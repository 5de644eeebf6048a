// What stands before and behind every source of kernels: text for the compiler of the GPU's code.
#pragma once

namespace openreg::cuda {

constexpr char kKernelSymbol[] = "openreg_kernel";

/// A source has functions `void NAME(const Arguments&, Context&)`, and for each a line OPENREG_KERNEL(NAME, Arguments).
/// Every thread of the launch runs the function; Context says which one it is. Services is that of services.h.
constexpr char kBefore[] = R"(
using int8_t = signed char;
using uint8_t = unsigned char;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
struct Report { int32_t code; int32_t unused; const char* kernel; char text[256]; };
struct Services { int32_t* failed; Report* report; const char* kernel; };
class Context {
 public:
  explicit Context(const Services& services) : services_(services) {}
  int64_t thread() const { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
  int64_t threads() const { return int64_t(gridDim.x) * blockDim.x; }
  void fail(int32_t code, const char* message) {
    if (atomicCAS(services_.failed, 0, 1) != 0) return; // the first report counts
    Report& report = *services_.report;
    int at = 0;
    for (; at < 255 && message[at] != 0; ++at) report.text[at] = message[at];
    report.text[at] = 0;
    report.kernel = services_.kernel;
    __threadfence_system();
    *static_cast<volatile int32_t*>(&report.code) = code == 0 || code == 5 ? 7 : code; // else no failure at all
  }
 private:
  const Services& services_;
};
#define OPENREG_KERNEL(name, Arguments)
#line 1
)";

/// Kernels behind one that has failed do nothing.
constexpr char kBehind[] = R"(
extern "C" __global__ void openreg_kernel(const OPENREG_ARGUMENTS arguments, const Services services) {
  if (*static_cast<volatile int32_t*>(services.failed) != 0) return;
  Context context(services);
  alignas(16) const OPENREG_ARGUMENTS aligned = arguments; // which the contract promises
  OPENREG_NAME(aligned, context);
}
)";

} // namespace openreg::cuda
