// The device's own strided copy: finding it, and launching it.
#include "ops/copy_kernel.h"

#include "device/device.h"
#include "device/error.h"

#include <c10/core/DeviceGuard.h>
#include <kernels/copy.h>
#include <kernels/pointers.h>

#include <array>
#include <limits>
#include <mutex>

namespace openreg {
namespace {

// LITERALINCLUDE START: HAS COPY KERNEL
struct Answer {
  std::mutex mutex;
  bool known = false;
  orKernel_t kernel = nullptr; // null: the driver has none
};

orKernel_t findCopyKernel() {
  orModule_t module = nullptr;
  orKernel_t kernel = nullptr;
  auto error = orModuleLoad(&module, "openreg");
  if (error == orSuccess) {
    error = orModuleGetKernel(&kernel, module, "copy");
  }
  if (error == orErrorNotFound || error == orErrorNotImplemented) {
    (void)orGetLastError(); // an answer, not a failure
    return nullptr;
  }
  check(error);
  return kernel;
}

orKernel_t copyKernel(c10::DeviceIndex device) {
  static auto& answers = *new std::array<Answer, std::numeric_limits<c10::DeviceIndex>::max() + 1>;
  auto& answer = answers[device];
  const std::lock_guard lock(answer.mutex);
  if (!answer.known) {
    const c10::DeviceGuard guard({kDeviceType, device}); // a module is loaded on the current device
    answer.kernel = findCopyKernel();
    answer.known = true;
  }
  return answer.kernel;
}

} // namespace

bool hasCopyKernel(c10::DeviceIndex device) {
  return copyKernel(device) != nullptr;
}
// LITERALINCLUDE END: HAS COPY KERNEL

// LITERALINCLUDE START: LAUNCH COPY
bool launchCopy(const at::Tensor& src, const at::Tensor& dst, orStream_t stream) {
  const auto dims = static_cast<int>(dst.dim());
  if (dims > kernels::kMaxDims) {
    return false;
  }
  kernels::CopyArgs args{};
  args.dst = dst.mutable_data_ptr();
  args.src = src.const_data_ptr();
  args.elementSize = dst.element_size();
  args.dims = dims;
  for (int i = 0; i < dims; ++i) { // the contract counts in bytes, PyTorch in elements
    args.sizes[i] = dst.size(i);
    args.dstStrides[i] = dst.stride(i) * args.elementSize;
    args.srcStrides[i] = src.stride(i) * args.elementSize;
  }
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, dst), orAccessWrite, dims, args.sizes, args.dstStrides, args.elementSize),
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, src), orAccessRead, dims, args.sizes, args.srcStrides, args.elementSize),
  };
  check(
      orLaunchKernel(copyKernel(dst.device().index()), &args, sizeof(args), pointers.data(), pointers.size(), stream));
  return true;
}
// LITERALINCLUDE END: LAUNCH COPY

} // namespace openreg
