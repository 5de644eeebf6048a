// Kernels compiled before a program asks for them.
#include "ahead.h"

#include <string>
#include <vector>

#include "api/entry.h"
#include "cache.h"
#include "common/guarded.h"
#include "common/refused.h"
#include "compiler.h"
#include "module.h"

using openreg::Refused;
using openreg::api::Entry;

namespace openreg::cuda {

namespace {

/// Those that are compiled: of the others a library of NVIDIA's has the code.
std::vector<const char*> compiledKernels() {
  std::vector<const char*> found;
  for (const auto& [name, kernel] : sourceOf("openreg").kernels) {
    if (!kernel.file.empty() && kernel.vendor == nullptr) {
      found.push_back(name.c_str());
    }
  }
  return found;
}

void compileInto(const char* kernel, int architecture, const char* folder, int* made) {
  const Source& source = sourceOf("openreg");
  const auto found = source.kernels.find(kernel);
  if (found == source.kernels.end() || found->second.file.empty()) {
    throw Refused{orDriverError(
        orErrorNotFound, "argument 'kernel' is '%s'; expected a kernel that is compiled for the GPU", kernel)};
  }
  *made = compileAhead(source, found->first, architecture, folder) ? 1 : 0;
}

} // namespace

} // namespace openreg::cuda

orError_t orCudaKernels(const char* const** names, size_t* count) {
  Entry entry("orCudaKernels", Entry::Needs::Nothing);
  entry.notNull(names != nullptr, "names", "where to put the array");
  entry.notNull(count != nullptr, "count", "where to put the number");
  if (entry.ok()) {
    static const auto& all = *new std::vector<const char*>(openreg::cuda::compiledKernels());
    *names = all.data();
    *count = all.size();
  }
  return entry.status();
}

orError_t orCudaCache(const char** folder) {
  Entry entry("orCudaCache", Entry::Needs::Nothing);
  entry.notNull(folder != nullptr, "folder", "where to put the path");
  if (entry.ok()) {
    thread_local std::string own;
    own = openreg::cuda::ownCache();
    *folder = own.c_str();
  }
  return entry.status();
}

orError_t orCudaCompile(const char* kernel, int architecture, const char* folder, int* made) {
  Entry entry("orCudaCompile", Entry::Needs::Nothing);
  entry.notNull(kernel != nullptr, "kernel", "the name of a kernel");
  entry.require(
      architecture > 0, orErrorInvalidValue, "argument 'architecture' is %d; expected 90 for sm_90", architecture);
  entry.notNull(folder != nullptr, "folder", "the path of a folder");
  entry.notNull(made != nullptr, "made", "where to put whether it is new");
  return entry.own(openreg::guarded<openreg::cuda::compileInto>, kernel, architecture, folder, made);
}
