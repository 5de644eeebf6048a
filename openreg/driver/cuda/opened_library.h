// Libraries of NVIDIA's that are opened when they are first needed: the build needs none of them.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <type_traits>

namespace openreg::cuda {

/// A library, or none, if it isn't there. It stays open until the process ends.
class OpenedLibrary {
 public:
  /// Opens the first that there is. @param variable Of the environment: names a file that is tried before `names` are.
  OpenedLibrary(const char* variable, std::initializer_list<const char*> names) {
    if (const char* chosen = std::getenv(variable); chosen != nullptr) {
      handle_ = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    }
    for (const char* name : names) {
      handle_ = handle_ == nullptr ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : handle_;
    }
  }

  /// Sets a pointer to the function of that name. False if there is none, or no library.
  template <class Function>
  bool find(Function& function, const char* name) const {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<std::remove_reference_t<Function>>(dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

} // namespace openreg::cuda
