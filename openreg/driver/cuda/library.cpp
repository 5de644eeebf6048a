// Opens libcuda.so.1, and puts its errors into the contract's.
#include "library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "common/refused.h"

namespace openreg::cuda {

const Library& library() {
  static const Library* const opened = [] {
    auto* const made = new Library{}; // never destroyed: threads may still call when the process ends
    Library& it = *made;
    const char* chosen = std::getenv("OPENREG_CUDA_LIBRARY");
    const char* path = chosen != nullptr ? chosen : "libcuda.so.1";
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      it.missing = std::string("NVIDIA's driver library cannot be opened: ") + dlerror();
      return made;
    }
#define OPENREG_FIND(name, symbol, ...)                                                                                \
  it.name = reinterpret_cast<decltype(it.name)>(dlsym(handle, symbol));                                                \
  if (it.name == nullptr) {                                                                                            \
    it.missing = std::string(path) + " has no function " symbol "; expected CUDA 12.4 or newer";                       \
  }
    OPENREG_CUDA_FUNCTIONS(OPENREG_FIND)
#undef OPENREG_FIND
    return made;
  }();
  return *opened;
}

std::string inWords(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  library().cuGetErrorName(result, &name);
  library().cuGetErrorString(result, &text);
  return (name != nullptr ? name : "CUDA error " + std::to_string(result)) +
         (text != nullptr ? std::string(" (") + text + ")" : "");
}

orError_t codeOf(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return orSuccess;
    case CUDA_ERROR_INVALID_VALUE:
      return orErrorInvalidValue;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return orErrorMemoryAllocation;
    case CUDA_ERROR_NOT_READY:
      return orErrorNotReady;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return orErrorIllegalAddress;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return orErrorTimedOut;
    case CUDA_ERROR_ASSERT:
      return orErrorAssert;
    default:
      return isSticky(result) ? orErrorLaunchFailure : orErrorVendor;
  }
}

bool isSticky(CUresult result) {
  return result >= CUDA_ERROR_ILLEGAL_ADDRESS && result <= CUDA_ERROR_LAUNCH_FAILED &&
         (result < CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED || result > CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
}

void refuseUnless(CUresult result, const char* function) {
  if (result != CUDA_SUCCESS) [[unlikely]] {
    throw Refused{orDriverError(codeOf(result), "%s failed with %s", function, inWords(result).c_str())};
  }
}

} // namespace openreg::cuda
