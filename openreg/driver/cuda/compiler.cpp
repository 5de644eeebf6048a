// Opens libnvrtc (NVIDIA's package nvidia-cuda-nvrtc: no toolkit), compiles, and keeps what was compiled.
#include "compiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "common/refused.h"
#include "device_code.h"
#include "library.h"
#include "module.h"
#include "opened_library.h"
#include "sources.h"

namespace openreg::cuda {

namespace {

namespace fs = std::filesystem;
using Program = struct ProgramOf*;

/// What is used of NVRTC. Opened at the first compilation; OPENREG_CUDA_NVRTC names another file.
struct Nvrtc {
  int (*version)(int*, int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*logSize)(Program, size_t*);
  int (*log)(Program, char*);
  int (*codeSize)(Program, size_t*);
  int (*code)(Program, char*);
  int (*destroy)(Program*);
  bool complete = false;
};

const Nvrtc& nvrtc() {
  static const Nvrtc opened = [] {
    Nvrtc it{};
    const OpenedLibrary library("OPENREG_CUDA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
    it.complete = library.find(it.version, "nvrtcVersion") && library.find(it.create, "nvrtcCreateProgram") &&
                  library.find(it.compile, "nvrtcCompileProgram") &&
                  library.find(it.logSize, "nvrtcGetProgramLogSize") && library.find(it.log, "nvrtcGetProgramLog") &&
                  library.find(it.codeSize, "nvrtcGetCUBINSize") && library.find(it.code, "nvrtcGetCUBIN") &&
                  library.find(it.destroy, "nvrtcDestroyProgram");
    return it;
  }();
  return opened;
}

/// FNV-1a: the same in every process, which std::hash does not promise.
uint64_t hashOf(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  }
  return hash;
}

fs::path cacheFolder() {
  const char* chosen = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  return chosen != nullptr ? fs::path(chosen) / "openreg"
                           : fs::path(home != nullptr ? home : "/tmp") / ".cache/openreg";
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Written beside its place and moved there: who reads meanwhile finds all or nothing. Without a cache nothing is lost
/// but time.
void keep(const fs::path& path, const std::string& code) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path written = path.string() + "." + std::to_string(getpid());
  std::ofstream(written, std::ios::binary) << code;
  fs::rename(written, path, ignored);
}

/// What a compilation is made of.
struct Task {
  std::string path; ///< For our messages.
  std::string name; ///< For the compiler's. A file that it includes can't be called the same.
  std::string text;
  std::map<std::string, std::string> headers; ///< By the names that the text, or another header, includes them by.
  std::vector<std::string> options;
};

/// Looks for the folder that has CCCL's headers: where NVIDIA's packages and toolkits have it, seen from NVRTC.
std::string findStandardLibrary() {
  Dl_info info{};
  if (!nvrtc().complete || dladdr(reinterpret_cast<void*>(nvrtc().version), &info) == 0) {
    return {};
  }
  std::error_code ignored;
  const fs::path folder = fs::canonical(info.dli_fname, ignored).parent_path();
  for (const char* place : {"../include/cccl", "../include", "../../cuda_cccl/include"}) {
    if (fs::exists(folder / place / "cuda/std/type_traits", ignored)) {
      return (folder / place).lexically_normal();
    }
  }
  return {};
}

/// A kernel of another module.
Task taskOf(const Source& source, const std::string& kernel) {
  return {
      source.path,
      source.path,
      kBeforeModule + source.text + kBehindModule + kEntryPoint,
      {{"openreg_kernel.h", std::string(textOf("openreg_kernel.h"))}, {"cstdint", kIntegers}},
      {"-DOPENREG_NAME=" + kernel, "-DOPENREG_ARGUMENTS=" + source.kernels.at(kernel).arguments}};
}

/// A kernel of this library's own.
Task taskOfOwn(const std::string& file, const std::string& kernel) {
  Task task{file, kernel, "#include \"" + file + "\"\n" + kBehindOwn + kEntryPoint, {}, {}};
  for (const auto& [name, text] : withIncluded(file)) {
    task.headers[std::string(name)] = text;
  }
  for (const std::string name : kStandardHeaders) {
    task.headers[name] = "#pragma once\n#include <cuda/std/" + name +
                         ">\nnamespace std { using namespace cuda::std; }\n" + (name == "cmath" ? kMath : "");
  }
  static const std::string cccl = findStandardLibrary();
  if (cccl.empty() && nvrtc().complete) { // without a compiler, that is what is said
    throw Refused{orDriverError(
        orErrorNotFound,
        "'%s' can't be compiled without CCCL: beside NVRTC there is no include/cccl/cuda/std; expected NVIDIA's "
        "package nvidia-cuda-cccl",
        file.c_str())};
  }
  // The compiler warns of Asked's friend, which is no template. It is meant to be none.
  task.options = {
      "-DOPENREG_NAME=\"" + kernel + "\"", "-I" + cccl, "-diag-suppress=1301", "-device-int128", "-D__extension__="};
  return task;
}

std::string compileNow(const Task& task) {
  const Nvrtc& it = nvrtc();
  if (!it.complete) {
    throw Refused{orDriverError(
        orErrorNotFound,
        "'%s' can't be compiled without NVRTC: libnvrtc.so.13 or .12 cannot be opened; expected NVIDIA's package "
        "nvidia-cuda-nvrtc, or OPENREG_CUDA_NVRTC with the library's path",
        task.path.c_str())};
  }
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const auto& [name, text] : task.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  Program program = nullptr;
  it.create(&program, task.text.c_str(), task.name.c_str(), static_cast<int>(names.size()), texts.data(), names.data());
  std::vector<const char*> words;
  words.reserve(task.options.size());
  for (const auto& option : task.options) {
    words.push_back(option.c_str());
  }
  size_t size = 0;
  std::string result;
  const bool compiled = it.compile(program, static_cast<int>(words.size()), words.data()) == 0;
  (compiled ? it.codeSize : it.logSize)(program, &size);
  result.resize(size);
  (compiled ? it.code : it.log)(program, result.data());
  it.destroy(&program);
  if (!compiled) {
    throw Refused{
        orDriverError(orErrorNotFound, "'%s' does not compile for the GPU: %.600s", task.path.c_str(), result.c_str())};
  }
  return result;
}

} // namespace

std::string compile(const Source& source, const std::string& kernel, int architecture) {
  const std::string& file = source.kernels.at(kernel).file;
  Task task = file.empty() ? taskOf(source, kernel) : taskOfOwn(file, kernel);
  task.options.insert(
      task.options.end(), {"-arch=sm_" + std::to_string(architecture), "-std=c++20", "-default-device"});
  int driver = 0;
  int compiler[2] = {0, 0};
  OPENREG_CUDA(cuDriverGetVersion, &driver);
  if (nvrtc().complete) {
    nvrtc().version(&compiler[0], &compiler[1]);
  }
  std::string key =
      task.text + std::to_string(driver) + "," + std::to_string(compiler[0]) + "." + std::to_string(compiler[1]);
  for (const auto& [name, text] : task.headers) {
    key += name + text;
  }
  for (const auto& option : task.options) {
    key += " " + option;
  }
  const fs::path kept = cacheFolder() / (kernel + "-" + std::to_string(hashOf(key)) + ".cubin");
  if (std::string code = contents(kept); !code.empty()) {
    return code;
  }
  std::string code = compileNow(task);
  keep(kept, code);
  return code;
}

} // namespace openreg::cuda
