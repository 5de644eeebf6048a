// Libraries of NVIDIA's that are opened when they are first needed: the build needs none of them.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace openreg::cuda {

/// A library, or none, if it isn't there. It stays open until the process ends.
class OpenedLibrary {
 public:
  /// Opens the first that there is: on the loader's path, in what the process has loaded already, or where NVIDIA's
  /// Python packages lie beside ours (CMakeLists.txt has the folders).
  /// @param variable Of the environment: names a file in place of `names`. Whoever sets it wants no other.
  OpenedLibrary(const char* variable, std::initializer_list<const char*> names) {
    if (const char* chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0') {
      handle_ = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
      if (handle_ == nullptr) {
        missing_ = std::string(variable) + " is '" + chosen + "', which cannot be opened: " + dlerror();
      }
      return;
    }
    for (const char* name : names) {
      missing_ += (missing_.empty() ? "" : " or ") + std::string(name);
      handle_ = handle_ == nullptr ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : handle_;
    }
    missing_ = handle_ != nullptr ? "" : missing_ + " cannot be opened";
  }

  /// Sets a pointer to the function of that name.
  template <class Function>
  void find(Function& function, const char* name) {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<std::remove_reference_t<Function>>(dlsym(handle_, name));
    if (handle_ != nullptr && function == nullptr) {
      missing_ = std::string("it has no function ") + name;
    }
  }

  /// What could not be opened or found; empty if all is there.
  const std::string& missing() const { return missing_; }

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

} // namespace openreg::cuda
