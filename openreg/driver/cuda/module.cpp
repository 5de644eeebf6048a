// Modules and kernels by name.
#include "module.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string_view>

#include "compiler.h"
#include "driver.h"
#include "kernels/launch/registry.h"

namespace openreg::cuda {

namespace {

std::string trimmed(std::string_view text) {
  const auto isBlank = [](char it) { return it == ' ' || it == '\n' || it == '\t'; };
  while (!text.empty() && isBlank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && isBlank(text.back())) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

/// The kernels that a source declares by OPENREG_KERNEL(name, Arguments), and the type of their arguments.
std::map<std::string, SourceKernel> kernelsOf(std::string_view text) {
  constexpr std::string_view kBegin = "OPENREG_KERNEL(";
  std::map<std::string, SourceKernel> found;
  for (auto at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const auto comma = text.find(',', at);
    const auto end = text.find(')', at);
    if (end != text.npos && comma < end) {
      found[trimmed(text.substr(at, comma - at))].arguments = trimmed(text.substr(comma + 1, end - comma - 1));
    }
  }
  return found;
}

/// The kernels of this library that have a form for GPUs, or that a library of NVIDIA's has.
std::map<std::string, SourceKernel> ownKernels() {
  std::map<std::string, SourceKernel> found;
  for (const auto& entry : kernels::registered()) {
    const char* file = kernels::sourceOf(entry.name);
    const VendorCall vendor = findVendorCall(entry.name);
    if (file != nullptr || vendor != nullptr) {
      const int phases = kernels::phasesOf(entry.name);
      found[entry.name] = {"", file != nullptr ? file : "", entry.minArgsSize, phases, vendor};
    }
  }
  return found;
}

/// Whether code can't be loaded because of what it is, and not because of the device.
bool isOfNoUse(CUresult result) {
  return result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY && !isSticky(result);
}

} // namespace

const Source& sourceOf(const char* name) {
  static std::mutex mutex;
  static auto& sources = *new std::map<std::string, Source>; // Never destroyed: kernels have their names there.
  const std::lock_guard lock(mutex);
  Source source{name, "", {}};
  if (std::strchr(name, '/') != nullptr) {
    std::ifstream file(name, std::ios::binary);
    if (std::filesystem::is_directory(name)) { // Which can be opened, but not read.
      throw Refused{orDriverError(orErrorNotFound, "argument 'name' is '%s', which is a folder", name)};
    }
    source.text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      throw Refused{orDriverError(
          orErrorNotFound, "argument 'name' is '%s', which cannot be read: %s", name, std::strerror(errno))};
    }
    if (source.text.starts_with(
            "\x7f"
            "ELF")) {
      throw Refused{orDriverError(
          orErrorNotFound,
          "argument 'name' is '%s', a shared library for the host's processor; expected the source of kernels for the "
          "GPU",
          name)};
    }
    source.kernels = kernelsOf(source.text);
    if (source.kernels.empty()) {
      throw Refused{orDriverError(
          orErrorNotFound,
          "argument 'name' is '%s', which has no kernels; expected lines such as OPENREG_KERNEL(name, Arguments)",
          name)};
    }
  } else if (std::strcmp(name, "openreg") == 0) {
    source.kernels = ownKernels();
  } else {
    throw Refused{orDriverError(
        orErrorNotFound,
        "argument 'name' is '%s'; expected 'openreg' or the path (with a slash in it) of a source of kernels", name)};
  }
  // A file that has been written anew is another module.
  const std::string key = source.path + '\n' + source.text;
  return sources.emplace(key, std::move(source)).first->second;
}

uint64_t Cuda::loadModule(const char* name, Device& device) {
  const Source& source = sourceOf(name);
  const std::lock_guard lock(modulesMutex);
  return findOrMake(
      modules, device, [&](const Module& other) { return other.source == &source; },
      [&](Module& made) { made.source = &source; });
}

uint64_t Cuda::getKernel(orModule_t module, const char* name) {
  const std::lock_guard lock(modulesMutex);
  const Module& from = named(modules, module);
  const auto found = from.source->kernels.find(name);
  if (found == from.source->kernels.end()) {
    throw Refused{orDriverError(
        orErrorNotFound, "argument 'name' is '%s'; expected a kernel of the module, which has %zu", name,
        from.source->kernels.size())};
  }
  Device& device = *from.device.load();
  device.enter();
  const SourceKernel& kernel = found->second;
  Code code{nullptr, kernel.minArgsSize};
  if (kernel.vendor != nullptr) {
    expectBlas(name);
  } else {
    code = load(*from.source, found->first, device);
  }
  return findOrMake(
      kernels, device, [&](const Kernel& other) { return other.of == &found->first; },
      [&](Kernel& made) {
        made.of = &found->first;
        made.function = code.function;
        made.vendor = kernel.vendor;
        made.minArgs = code.minArgsSize;
        made.phases = kernel.phases;
      });
}

const Cuda::Code& Cuda::load(const Source& source, const std::string& kernel, const Device& device) {
  const auto key = std::pair(&device, &kernel);
  if (const auto found = code_.find(key); found != code_.end()) {
    return found->second;
  }
  Kept image = compile(source, kernel, device.architecture());
  Code code;
  CUmodule made = nullptr;
  CUresult loaded = library().cuModuleLoadData(&made, image.code.data());
  if (isOfNoUse(loaded) && !image.file.empty()) {
    // Of a compiler that is newer than this driver, or no longer what it was. Ours is in the cache for the next time.
    if (!canCompile()) {
      throw Refused{orDriverError(
          orErrorNotFound,
          "'%s' can't be loaded by NVIDIA's driver; expected code of a compiler that is not newer, or NVRTC to compile "
          "it here; the driver says %s",
          image.file.c_str(), inWords(loaded).c_str())};
    }
    image = compile(source, kernel, device.architecture(), true);
    loaded = library().cuModuleLoadData(&made, image.code.data());
  }
  refuseUnless(loaded, "cuModuleLoadData");
  OPENREG_CUDA(cuModuleGetFunction, &code.function, made, kKernelSymbol);
  size_t offset = 0;
  OPENREG_CUDA(cuFuncGetParamInfo, code.function, 0, &offset, &code.minArgsSize);
  if (const auto& own = source.kernels.at(kernel); !own.file.empty()) {
    code.minArgsSize = own.minArgsSize; // a launch sends what it uses of the arguments
  } else if (code.minArgsSize == 1) {
    code.minArgsSize = 0; // C++ has no type of no bytes: one byte means that there are no arguments
  }
  return code_[key] = code;
}

void Cuda::forgetCode(const Device& device) {
  const std::lock_guard lock(modulesMutex);
  std::erase_if(code_, [&](const auto& it) { return it.first.first == &device; });
}

} // namespace openreg::cuda
