// Opens libnvrtc (NVIDIA's package nvidia-cuda-nvrtc: no toolkit) and compiles.
#include "compiler.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <vector>

#include "common/refused.h"
#include "device_code.h"
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
  std::string missing; ///< Empty if all of it is there.
};

const Nvrtc& nvrtc() {
  static const Nvrtc& opened = *[] { // never destroyed: threads may still call when the process ends
    auto* const it = new Nvrtc{};
    OpenedLibrary library("OPENREG_CUDA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
    library.find(it->version, "nvrtcVersion");
    library.find(it->create, "nvrtcCreateProgram");
    library.find(it->compile, "nvrtcCompileProgram");
    library.find(it->logSize, "nvrtcGetProgramLogSize");
    library.find(it->log, "nvrtcGetProgramLog");
    library.find(it->codeSize, "nvrtcGetCUBINSize");
    library.find(it->code, "nvrtcGetCUBIN");
    library.find(it->destroy, "nvrtcDestroyProgram");
    it->missing = library.missing();
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

/// What a compilation is made of.
struct Task {
  std::string path; ///< For our messages.
  std::string name; ///< For the compiler's. A file that it includes can't be called the same.
  std::string text;
  std::map<std::string, std::string> headers; ///< By the names that the text, or another header, includes them by.
  std::vector<std::string> options;
  bool usesCccl = false;
};

/// Looks for the folder that has CCCL's headers: where NVIDIA's packages and toolkits have it, seen from NVRTC.
std::string findStandardLibrary() {
  Dl_info info{};
  if (!canCompile() || dladdr(reinterpret_cast<void*>(nvrtc().version), &info) == 0) {
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
Task taskOfOther(const Source& source, const std::string& kernel) {
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
  // The compiler warns of Asked's friend, which is no template. It is meant to be none.
  task.options = {"-DOPENREG_NAME=\"" + kernel + "\"", "-diag-suppress=1301", "-device-int128", "-D__extension__="};
  task.usesCccl = true;
  return task;
}

Task taskOf(const Source& source, const std::string& kernel, int architecture) {
  const std::string& file = source.kernels.at(kernel).file;
  Task task = file.empty() ? taskOfOther(source, kernel) : taskOfOwn(file, kernel);
  task.options.insert(
      task.options.end(), {"-arch=sm_" + std::to_string(architecture), "-std=c++20", "-default-device"});
  return task;
}

/// What the code is kept as: by what is computed and for which GPU. Neither the compiler's version is in it nor where
/// anything lies: code that one machine has compiled is to be found on another, which may have no compiler.
std::string nameOf(const Task& task, const std::string& kernel, int architecture) {
  std::string key = task.text;
  for (const auto& [name, text] : task.headers) {
    key += name + text;
  }
  for (const auto& option : task.options) {
    key += " " + option;
  }
  return kernel + "-sm_" + std::to_string(architecture) + "-" + std::to_string(hashOf(key)) + ".cubin";
}

std::string compileNow(const Task& task) {
  const Nvrtc& it = nvrtc();
  if (!it.missing.empty()) {
    throw Refused{orDriverError(
        orErrorNotFound,
        "'%s' can't be compiled without NVRTC: %s; expected NVIDIA's package nvidia-cuda-nvrtc, or OPENREG_CUDA_NVRTC "
        "with the library's path",
        task.path.c_str(), it.missing.c_str())};
  }
  static const std::string cccl = findStandardLibrary();
  if (task.usesCccl && cccl.empty()) {
    throw Refused{orDriverError(
        orErrorNotFound,
        "'%s' can't be compiled without CCCL: beside NVRTC there is no include/cccl/cuda/std; expected NVIDIA's "
        "package nvidia-cuda-cccl",
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
  const std::string include = "-I" + cccl;
  if (task.usesCccl) {
    words.push_back(include.c_str());
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

bool canCompile() {
  return nvrtc().missing.empty();
}

Kept compile(const Source& source, const std::string& kernel, int architecture, bool anew) {
  const Task task = taskOf(source, kernel, architecture);
  const std::string name = nameOf(task, kernel, architecture);
  Kept found = anew ? Kept{} : findKept(name);
  if (found.code.empty()) {
    found.code = compileNow(task);
    keep(ownCache(), name, found.code); // without a cache nothing is lost but time
  }
  return found;
}

bool compileAhead(const Source& source, const std::string& kernel, int architecture, const std::string& folder) {
  const Task task = taskOf(source, kernel, architecture);
  const std::string name = nameOf(task, kernel, architecture);
  if (!findIn(folder, name).code.empty()) {
    return false;
  }
  const Kept own = findIn(ownCache(), name);
  if (const std::string why = keep(folder, name, own.code.empty() ? compileNow(task) : own.code); !why.empty()) {
    throw Refused{orDriverError(
        orErrorInvalidValue, "argument 'folder' is '%s', which can't be written to: %s", folder.c_str(), why.c_str())};
  }
  return true;
}

} // namespace openreg::cuda
