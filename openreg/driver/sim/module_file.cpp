// The shared library of a module, loaded from a copy of its file.
#include "module_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <compare>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "common/descriptor.h"
#include "common/refused.h"

namespace openreg::sim {

namespace {

/// What a file was when it was loaded. One that is compiled anew at the same path is another.
struct Identity {
  dev_t device;
  ino_t inode;
  off_t size;
  time_t seconds;
  long nanoseconds;

  auto operator<=>(const Identity&) const = default;
};

[[noreturn]] void refuse(const char* name, const char* why) {
  throw Refused{orDriverError(orErrorNotFound, "argument 'name' is '%s', which cannot be loaded: %s", name, why)};
}

bool copy(int from, int to, off_t bytes) {
  while (bytes > 0) {
    const ssize_t done = sendfile(to, from, nullptr, static_cast<size_t>(bytes));
    if (done <= 0) {
      return false;
    }
    bytes -= done;
  }
  return true;
}

/// A path to a descriptor that has not been used before. The loader takes two libraries of one name for one, and the
/// numbers of descriptors come again: so each path is spelt in another way.
std::string pathOf(int descriptor, uint32_t count) {
  std::string path = "/proc/self/fd";
  for (uint32_t rest = count; rest != 0; rest /= 2) {
    path += rest % 2 == 0 ? "/" : "/.";
  }
  return path + "/" + std::to_string(descriptor);
}

/// The loader's complaint without our path before it.
std::string complaint() {
  const std::string text = dlerror();
  const size_t colon = text.find(": ");
  return text.starts_with("/proc/self/fd") && colon != text.npos ? text.substr(colon + 2) : text;
}

} // namespace

// LITERALINCLUDE START: MODULE FILE
Source loadModuleFile(const char* path, const char* name) {
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  struct stat is{};
  if (!file || fstat(file.number(), &is) != 0) {
    refuse(name, std::strerror(errno));
  }
  const Identity identity{is.st_dev, is.st_ino, is.st_size, is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
  static auto& mutex = *new std::mutex;
  static auto& loaded = *new std::map<Identity, Source>; // Never unloaded: work that uses it may be anywhere.
  const std::lock_guard lock(mutex);
  if (const auto known = loaded.find(identity); known != loaded.end()) {
    return known->second;
  }
  // From a copy, so that whoever writes to the file later does not write to code that runs.
  const Descriptor own(memfd_create("openreg-module", MFD_CLOEXEC));
  if (!own || !copy(file.number(), own.number(), is.st_size)) {
    refuse(name, std::strerror(errno));
  }
  static uint32_t count = 0;
  void* library = dlopen(pathOf(own.number(), ++count).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(name, complaint().c_str());
  }
  const auto get = reinterpret_cast<decltype(&orGetKernels)>(dlsym(library, "orGetKernels"));
  if (get == nullptr) {
    dlclose(library);
    throw Refused{orDriverError(orErrorNotFound, "argument 'name' is '%s', which does not export orGetKernels", name)};
  }
  size_t kernels = 0;
  const orKernelEntry* entries = get(&kernels);
  return loaded[identity] = {library, {entries, entries != nullptr ? kernels : 0}};
}
// LITERALINCLUDE END: MODULE FILE

} // namespace openreg::sim
