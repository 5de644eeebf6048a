// Where compiled kernels are kept, and how.
#include "cache.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace openreg::cuda {

namespace fs = std::filesystem;

namespace {

/// A folder that the environment names; empty if it names none.
fs::path folderOf(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

} // namespace

fs::path ownCache() {
  const fs::path chosen = folderOf("XDG_CACHE_HOME");
  const fs::path home = folderOf("HOME");
  return chosen.empty() ? (home.empty() ? "/tmp" : home) / ".cache/openreg" : chosen / "openreg";
}

Kept findIn(const fs::path& folder, const std::string& name) {
  std::ifstream file(folder / name, std::ios::binary);
  std::string code{std::istreambuf_iterator<char>(file), {}};
  return code.empty() ? Kept{} : Kept{std::move(code), folder / name};
}

Kept findKept(const std::string& name) {
  Kept found = findIn(ownCache(), name);
  if (const fs::path filled = folderOf("OPENREG_CUDA_CACHE"); found.code.empty() && !filled.empty()) {
    found = findIn(filled, name);
  }
  return found;
}

std::string keep(const fs::path& folder, const std::string& name, const std::string& code) {
  // Written beside its place and moved there. Others may be writing the same: threads, processes, other machines.
  static std::atomic<int> written{0};
  char machine[256] = "";
  gethostname(machine, sizeof(machine) - 1);
  const fs::path place = folder / name;
  const fs::path draft =
      place.string() + "." + machine + "." + std::to_string(getpid()) + "." + std::to_string(++written);
  std::error_code error;
  fs::create_directories(folder, error);
  std::ofstream file(draft, std::ios::binary);
  file << code;
  file.close();
  if (!file) { // what is there of it is not to be found
    const std::string why = std::strerror(errno);
    std::error_code ignored;
    fs::remove(draft, ignored);
    return error ? error.message() : why;
  }
  fs::rename(draft, place, error);
  return error ? error.message() : "";
}

} // namespace openreg::cuda
