// Opens the vendor's library for matrix products.
#include "kernels/linalg/blas.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace openreg::kernels {

namespace {

constexpr const char* kLibrary = "libscipy_openblas.so"; // found by the run path that CMakeLists.txt gives this library
/// OpenBLAS starts threads of its own when it is loaded, one for each core that the loading thread may use, and they
/// would fight ours for the cores. So this thread keeps to one core meanwhile. The library's environment variable would
/// do it, too, but to set that while other threads read theirs is a crash that waits to happen.
void* openWithOneThread() {
  cpu_set_t before;
  const bool known = sched_getaffinity(0, sizeof(before), &before) == 0;
  const int here = sched_getcpu();
  if (known && here >= 0 && here < CPU_SETSIZE) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    (void)sched_setaffinity(0, sizeof(one), &one); // if it fails, there are idle threads, and nothing else
  }
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (known) {
    (void)sched_setaffinity(0, sizeof(before), &before);
  }
  return library;
}

std::atomic<int> inside{0}; ///< Threads in the library.
std::atomic<bool> closed{false};
pid_t opener = 0;

/// Registered after the library has been loaded, hence called before its destructor.
void close() {
  if (getpid() != opener) {
    return; // In a forked child there are no kernels; a thread that was in there is so for ever.
  }
  closed.store(true);
  for (int threads = inside.load(); threads != 0; threads = inside.load()) {
    inside.wait(threads);
  }
}

struct Opened {
  Blas functions{};
  std::string why;

  Opened() {
    void* library = openWithOneThread();
    if (library == nullptr) {
      why = std::string(dlerror()) + "; it comes with the Python package scipy-openblas32";
      return;
    }
    get(library, functions.sgemm, "scipy_cblas_sgemm");
    get(library, functions.dgemm, "scipy_cblas_dgemm");
    get(library, functions.cgemm, "scipy_cblas_cgemm");
    get(library, functions.zgemm, "scipy_cblas_zgemm");
    get(library, functions.sgemv, "scipy_cblas_sgemv");
    get(library, functions.dgemv, "scipy_cblas_dgemv");
    get(library, functions.cgemv, "scipy_cblas_cgemv");
    get(library, functions.zgemv, "scipy_cblas_zgemv");
    opener = getpid();
    std::atexit(&close);
  }

  template <class Function>
  void get(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) {
      why = std::string(kLibrary) + " has no function " + name;
    }
  }
};

} // namespace

const Blas* blas(const char*& why) {
  static const auto& opened = *new Opened; // Never destroyed: kernels may run until the process ends.
  why = opened.why.c_str();
  return opened.why.empty() ? &opened.functions : nullptr;
}

BlasCall::BlasCall() {
  inside.fetch_add(1);
  if (closed.load()) { // Either we see this, or close() sees us.
    inside.fetch_sub(1);
    inside.notify_all();
    for (;;) {
      pause(); // Until the process has ended.
    }
  }
}

BlasCall::~BlasCall() {
  inside.fetch_sub(1);
  if (closed.load()) {
    inside.notify_all();
  }
}

} // namespace openreg::kernels
