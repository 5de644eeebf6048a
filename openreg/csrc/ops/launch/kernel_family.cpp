// The kernels of one operator: one for each type that it computes in.
#include "ops/launch/kernel_family.h"

#include "ops/launch/dtype.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <mutex>
#include <string>

namespace openreg {
namespace {

/// Kernels are looked up by any thread until the process ends, so neither they nor their names are ever destroyed.
const Kernel* makeKernel(const char* family, kernels::ComputeType type) {
  const auto* name = new std::string(std::string(family) + "." + kernels::computeTypeName(type));
  return new Kernel(name->c_str());
}

} // namespace

// LITERALINCLUDE START: FIND KERNEL OF FAMILY
const Kernel* KernelFamily::of(c10::ScalarType type) const {
  const auto dtype = findKernelDType(type);
  if (!dtype) {
    return nullptr;
  }
  const auto compute = kernels::computeTypeOf(*dtype);
  auto& known = kernels_[static_cast<size_t>(compute)];
  const auto* kernel = known.load(std::memory_order_acquire);
  if (C10_UNLIKELY(kernel == nullptr)) {
    static auto& making = *new std::mutex; // Of two threads that come here at once, the second takes the first's.
    const std::lock_guard lock(making);
    kernel = known.load(std::memory_order_relaxed);
    if (kernel == nullptr) {
      kernel = makeKernel(name_, compute);
      known.store(kernel, std::memory_order_release);
    }
  }
  return kernel;
}

const Kernel* KernelFamily::find(c10::ScalarType type, c10::DeviceIndex device) const {
  const auto* kernel = of(type);
  return kernel != nullptr && kernel->find(device) != nullptr ? kernel : nullptr;
}

const Kernel& KernelFamily::get(c10::ScalarType type, c10::DeviceIndex device) const {
  const auto* kernel = of(type);
  if (C10_UNLIKELY(kernel == nullptr || kernel->find(device) == nullptr)) {
    throw MissingKernel(
        c10::str(
            '"', name_, "\" not implemented for '", c10::toString(type), "'",
            kernel != nullptr ? kernel->missingEntry(device) : ""));
  }
  return *kernel;
}
// LITERALINCLUDE END: FIND KERNEL OF FAMILY

} // namespace openreg
